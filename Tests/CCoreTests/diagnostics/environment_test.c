/* SPDX-License-Identifier: Apache-2.0
 *
 * What the environment switches on: reports at a signal, by the watchdog and at exit; and whose files are written.
 */
/* contract: docs/diagnosis.md */
#include "diagnostics/program.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Whichever thread the report begins with. */
static void check_cycle(void) {
    check_contains(printed, "cycle 1: thread \"");
    check_contains(printed, "\"accounts\", held by ");
    check_contains(printed, "\"orders\", held by ");
    check_contains(printed, ", held by the first, thread \"");
    check_contains(printed, ", in cycle 1\n");
}

TEST(the_environment_switches_orders_on) {
    const int status = run_program(&(struct program){.what = "orders", .settings = "order"});
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_contains(printed, "interlock: lock-order inversion: thread \"diagnosed\" (");
    check_contains(printed, "lock_accounts+0x");
    check_contains(printed, "lock_orders+0x");
}

TEST(the_environment_ends_a_process_at_its_first_report) {
    const int status = run_program(&(struct program){.what = "orders", .settings = "order,abort"});
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(without_the_environment_nothing_is_said) {
    const int status = run_program(&(struct program){.what = "orders", .settings = ""});
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_text(printed, "");
}

TEST(unknown_words_are_named_and_ignored) {
    (void)run_program(&(struct program){.what = "orders", .settings = "orders,limit=soon,order"});
    check_contains(printed,
                   "interlock: INTERLOCK_DIAGNOSTICS: \"orders\" is none of order, contention, hang, abort, "
                   "limit=SECONDS, signal=NUMBER, file=PATH; it is ignored\n");
    check_contains(printed, "interlock: INTERLOCK_DIAGNOSTICS: \"limit=soon\" is none of ");
    check_contains(printed, "interlock: lock-order inversion: ");
    (void)run_program(
        &(struct program){.what = "orders", .settings = "signal=0,signal=10.5,signal=65,limit=nan,file="});
    check_contains(printed, "\"signal=0\" is none of ");
    check_contains(printed, "\"signal=10.5\" is none of ");
    check_contains(printed, "\"signal=65\" is none of ");
    check_contains(printed, "\"limit=nan\" is none of ");
    check_contains(printed, "\"file=\" is none of ");
    (void)run_program(&(struct program){.what = "orders", .settings = "limit=0,limit=0.0009,limit=86401"});
    check_contains(printed, "\"limit=0\" is none of ");
    check_contains(printed, "\"limit=0.0009\" is none of ");
    check_contains(printed, "\"limit=86401\" is none of ");
}

TEST(a_word_behind_many_others_is_read) {
    char settings[4096];
    size_t length = 0;
    while (length + 64 < sizeof settings) {
        length += (size_t)snprintf(settings + length, sizeof settings - length, "hang,,");
    }
    (void)snprintf(settings + length, sizeof settings - length, "order");
    (void)run_program(&(struct program){.what = "orders", .settings = settings});
    check_contains(printed, "interlock: lock-order inversion: ");
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_wedged_process_reports_at_a_signal) {
    skip_if(HAS_THREAD_SANITIZER,
            "ThreadSanitizer holds a signal back while its thread sleeps in a system call");
    (void)run_program(&(struct program){
        .what = "deadlock", .settings = "hang", .signal = SIGQUIT, .until = ", in cycle 1\n"});
    check_contains(printed, "interlock: the threads of process ");
    check_cycle();
    (void)run_program(&(struct program){
        .what = "deadlock", .settings = "signal=10", .signal = SIGUSR1, .until = ", in cycle 1\n"});
    check_cycle();
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(a_daemon_that_closes_all_descriptors_reports_at_a_signal) {
    (void)run_program(&(struct program){.what = "daemon",
                                        .settings = "hang",
                                        .signal = SIGQUIT,
                                        .until = "interlock: the threads of process "});
    check_contains(printed, "interlock: the threads of process ");
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(the_watchdog_reports_a_wedged_process) {
    (void)run_program(
        &(struct program){.what = "deadlock", .settings = "limit=0.2,order", .until = ", in cycle 1\n"});
    check_contains(printed, "interlock: a thread has waited for more than 200 ms\n");
    check_cycle();
}

TEST(the_diagnosis_is_written_at_exit) {
    char path[] = "/tmp/interlock-diagnosis-XXXXXX.json";
    const int file = mkstemps(path, 5);
    check(file >= 0);
    char settings[256];
    snprintf(settings, sizeof settings, "contention,file=%s", path);
    (void)run_program(&(struct program){.what = "busy", .settings = settings});
    check_text(printed, "");
    char text[16 * 1024];
    const ssize_t length = read(file, text, sizeof text - 1);
    check(length > 0);
    text[length] = '\0';
    check_contains(text, "\"kind\": \"mutex\", \"name\": \"accounts\", \"acquisitions\": 1");
    close(file);
    check_equal(unlink(path), 0);
    (void)run_program(&(struct program){.what = "busy", .settings = "contention"});
    check_contains(printed, "objects, those waited for longest first\n");
    check_contains(printed, " \"accounts\": 1 taken, 0 waited 0 ns, the longest 0 ns; held ");
    (void)run_program(&(struct program){.what = "busy", .settings = "contention,file=/nowhere/at/all.json"});
    check_contains(printed, "interlock: INTERLOCK_DIAGNOSTICS: the diagnosis cannot be written to "
                            "\"/nowhere/at/all.json\": No such file or directory\n");
}

/* ---- The file ---- */

/* A folder of the test's own, and a path in it. */
static char folder[64];

static void make_folder(void) {
    (void)strcpy(folder, "/tmp/interlock-diagnosis-XXXXXX");
    check(mkdtemp(folder) != NULL);
    check_equal(chmod(folder, 0755), 0);
}

static const char *path_of(const char *name) {
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    check_equal(system(command), 0);
}

static const char *contents(const char *path) {
    static char text[32 * 1024];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    check(file >= 0);
    const ssize_t length = read(file, text, sizeof text - 1);
    check(length >= 0);
    text[length] = '\0';
    close(file);
    return text;
}

static void make_file(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    check(file >= 0);
    check_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static void write_diagnosis_to(const char *path) {
    char settings[256];
    snprintf(settings, sizeof settings, "contention,file=%s", path);
    (void)run_program(&(struct program){.what = "busy", .settings = settings});
}

/* The file of another is left as it is, and that is said. */
static void expect_refusal(const char *path, const char *kept) {
    write_diagnosis_to(path);
    check_contains(printed, "interlock: INTERLOCK_DIAGNOSTICS: the diagnosis cannot be written to \"");
    check_text(contents(kept), "kept");
}

TEST(only_ones_own_file_is_overwritten) {
    make_folder();
    make_file(path_of("kept"), "kept");
    check_equal(symlink(path_of("kept"), path_of("link")), 0);
    expect_refusal(path_of("link"), path_of("kept"));
    check_equal(link(path_of("kept"), path_of("second")), 0);
    expect_refusal(path_of("second"), path_of("kept"));
    check_equal(unlink(path_of("second")), 0);
    check_equal(mkfifo(path_of("pipe"), 0666), 0);
    expect_refusal(path_of("pipe"), path_of("kept")); /* and it does not wait for a reader */
    expect_refusal("/dev/null", path_of("kept"));
    check_contains(printed, strerror(EPERM)); /* before it is emptied */
    if (getuid() == 0) {
        check_equal(chown(path_of("kept"), 65534, 65534), 0);
        check_equal(chmod(path_of("kept"), 0666), 0);
        expect_refusal(path_of("kept"), path_of("kept"));
    } else {
        print_message("not root: another user's file is left out\n");
    }
    remove_folder();
}

TEST(the_ending_of_the_path_chooses_the_form) {
    make_folder();
    write_diagnosis_to(path_of("diagnosis.html"));
    check(strncmp(contents(path_of("diagnosis.html")), "<!DOCTYPE html>\n", 16) == 0);
    write_diagnosis_to(path_of("diagnosis.json"));
    check(strncmp(contents(path_of("diagnosis.json")), "{\n", 2) == 0);
    write_diagnosis_to(path_of("diagnosis"));
    check(strncmp(contents(path_of("diagnosis")), "interlock: ", 11) == 0);
    remove_folder();
}

TEST(a_new_file_is_its_users_alone) {
    make_folder();
    (void)umask(0);
    write_diagnosis_to(path_of("new.txt"));
    check_text(printed, "");
    check_contains(contents(path_of("new.txt")), "\"accounts\": 1 taken");
    struct stat status;
    check_equal(stat(path_of("new.txt"), &status), 0);
    check_equal(status.st_mode & 07777, 0600);
    char longer[16 * 1024];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    make_file(path_of("own.txt"), longer);
    write_diagnosis_to(path_of("own.txt"));
    check(strstr(contents(path_of("own.txt")), "xxx") == NULL);
    remove_folder();
}

/* A path of so many characters to a file in the folder. */
static const char *path_of_length(size_t length, const char *name) {
    static char path[2048];
    size_t end = (size_t)snprintf(path, sizeof path, "%s", folder);
    while (end < length - strlen(name)) {
        path[end++] = '/'; /* as many as one */
    }
    (void)strcpy(path + end, name);
    return path;
}

TEST(the_longest_path_is_written_and_a_longer_one_is_none) {
    enum { LONGEST_PATH = 1023 };
    make_folder();
    char settings[4096];
    const char *longest = path_of_length(LONGEST_PATH, "longest.json");
    snprintf(settings, sizeof settings, "file=%s", longest);
    (void)run_program(&(struct program){.what = "busy", .settings = settings});
    check_text(printed, "");
    check_contains(contents(longest), "\"process\": {");
    const char *longer = path_of_length(LONGEST_PATH + 1, "longer.json");
    snprintf(settings, sizeof settings, "file=%s", longer);
    (void)run_program(&(struct program){.what = "busy", .settings = settings});
    check_contains(printed, " is none of order, ");
    check_equal(access(longer, F_OK), -1);
    remove_folder();
}

/* The other process is this one. */
TEST(a_file_that_another_process_writes_is_left_to_it) {
    make_folder();
    make_file(path_of("shared"), "kept");
    const int file = open(path_of("shared"), O_WRONLY | O_CLOEXEC);
    check(file >= 0);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    check_equal(fcntl(file, F_SETLK, &lock), 0);
    write_diagnosis_to(path_of("shared"));
    check_contains(printed, "/shared\": Device or resource busy\n");
    char bytes[8] = "";
    const int reading = open(path_of("shared"), O_RDONLY | O_CLOEXEC);
    check_equal(read(reading, bytes, sizeof bytes - 1), 4);
    check_text(bytes, "kept");
    close(reading); /* which also gives the lock up */
    write_diagnosis_to(path_of("shared"));
    check_text(printed, "");
    check_contains(contents(path_of("shared")), "\"accounts\": 1 taken");
    close(file);
    remove_folder();
}

TEST(a_child_of_fork_leaves_its_parents_file_alone) {
    make_folder();
    char settings[256], expected[64];
    snprintf(settings, sizeof settings, "file=%s", path_of("parent.json"));
    (void)run_program(&(struct program){.what = "forks", .settings = settings});
    int parent = 0;
    check_equal(sscanf(printed, "parent %d", &parent), 1);
    snprintf(expected, sizeof expected, "\"process\": {\"id\": %d,", parent);
    check_contains(contents(path_of("parent.json")), expected);
    remove_folder();
}

/* ---- Programs with more rights than their user ---- */

enum { OWNER = 65534, USER = 65533 };

/* A copy of "diagnosed" that is the owner's and has this mode. */
static void make_copy(const char *path, mode_t mode) {
    char command[1024];
    snprintf(command, sizeof command, "cp \"%s\" %s", DIAGNOSED_PROGRAM, path);
    check_equal(system(command), 0);
    check_equal(chown(path, OWNER, OWNER), 0);
    check_equal(chmod(path, mode), 0);
}

static bool can_raise_rights(void) {
    struct statvfs status;
    return getuid() == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 && statvfs("/tmp", &status) == 0 &&
           (status.f_flag & ST_NOSUID) == 0;
}

/* The same program without the bit listens to its environment: it is not for another reason that nothing is said. */
TEST(a_program_with_more_rights_than_its_user_takes_nothing_from_the_environment) {
    skip_if(!can_raise_rights(), "not root, or /tmp is mounted without set-user-ID programs");
    make_folder();
    make_copy(path_of("plain"), 0755);
    make_file(path_of("owners"), "kept");
    check_equal(chown(path_of("owners"), OWNER, OWNER), 0);
    char settings[256];
    snprintf(settings, sizeof settings, "order,contention,hang,limit=1,nonsense,file=%s", path_of("owners"));
    struct program program = {.path = path_of("plain"), .what = "busy", .settings = settings, .user = USER};
    (void)run_program(&program);
    check_contains(printed, "\"nonsense\" is none of ");
    const char *const raised[] = {path_of("user"), path_of("group")}; /* set-user-ID, set-group-ID */
    make_copy(raised[0], 04755);
    make_copy(raised[1], 02755);
    /* LeakSanitizer looks at its own process, which the system refuses to a set-group-ID program. */
    const unsigned count = HAS_ADDRESS_SANITIZER ? 1 : 2;
    for (unsigned index = 0; index < count; index++) {
        program.path = raised[index];
        const int status = run_program(&program);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        check_text(printed, "");
        check_text(contents(path_of("owners")), "kept");
    }
    remove_folder();
}
