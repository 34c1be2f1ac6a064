/* SPDX-License-Identifier: Apache-2.0
 *
 * The soak: every primitive of the C core at once, on real threads, under faults, for hours. docs/verification.md says
 * how to run it.
 *
 * The supervisor starts a child for each round. The round's seed chooses its faults, each with one chance in three, and
 * what each thread does; not the schedule. The child (child.c) runs a crew of threads for each primitive (locks.c,
 * meetings.c, rings.c, wait_set.c, pool.c). A crew works in episodes: one thread sets objects up, all use them, one
 * checks what is conserved: what a lock guards, the order and the sum of what went through a ring, permits, jobs. An
 * untrue claim, a report of misuse or of a sanitizer, or a crash ends the child, and the supervisor says which.
 *
 * Lost wake-ups. Most waits have no limit. Each thread has a heartbeat in shared memory: how many calls it has begun,
 * and the last. The supervisor counts the time in which the child is not stopped; a thread in an episode that begins no
 * call for 120 seconds of it hangs. A round ends when every thread has ended, so one lost wake-up is enough. The
 * report names the seed, the calls, and the state of each thread.
 *
 * Faults within the child are in faults.c; stops and the quota are here. A fault that the system does not permit
 * happens 0 times. The clock is not stepped: CLOCK_REALTIME is the machine's, and no deadline goes by it but, before
 * Linux 5.14, that of an inheriting mutex.
 *
 * Leaks. At the middle and at the end of a round all crews have ended. Descriptors, allocated bytes and resident memory
 * must not have grown in the second half.
 */
#include "soak.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME(name) #name
static const char *const primitive_names[] = {PRIMITIVES(NAME), "main"};
static const char *const fault_names[] = {FAULTS(NAME)};

/* The memory of both processes, in a descriptor that the child keeps. */
enum { DESCRIPTOR = 100 };
struct shared *shared;
static const char origin[] = "";
static volatile sig_atomic_t is_interrupted;
static double round_seconds = 20, limit_seconds = 120;

static void interrupt(int signal) {
    is_interrupted = signal;
}

static double now(void) {
    return (double)ilk_now_ns() / 1e9;
}

/* ---- A quota of half a processor ---- */

static const struct controller {
    const char *folder, *file, *quota;
} controllers[] = {
    {"/sys/fs/cgroup", "cpu.max", "50000 100000"},       /* cgroup v2 */
    {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"}, /* v1 */
};

/* The group of the round, made for it. */
static char group[64];

static FILE *open_in_group(const char *name, const char *mode) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", group, name);
    return fopen(path, mode);
}

static bool write_in_group(const char *name, const char *text) {
    FILE *file = open_in_group(name, "r+e");
    if (file == NULL) {
        return false;
    }
    bool is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written; /* which writes it */
}

/* False: there is no such group; stops of half the time do the same. */
static bool limit_child(pid_t child) {
    char process[32];
    snprintf(process, sizeof process, "%d", child);
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        const struct controller *controller = &controllers[i];
        snprintf(group, sizeof group, "%s/interlock-soak-%s", controller->folder, process);
        mkdir(group, 0755);
        if (write_in_group(controller->file, controller->quota) && write_in_group("cgroup.procs", process)) {
            return true;
        }
        rmdir(group);
    }
    return false;
}

static void end_group(void) {
    unsigned long long number;
    char word[32];
    FILE *file = open_in_group("cpu.stat", "re");
    while (file != NULL && fscanf(file, "%31s %llu", word, &number) == 2) {
        if (strcmp(word, "nr_throttled") == 0) {
            shared->happened[fault_of_quota_periods] = number;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    rmdir(group);
}

/* ---- Watching ---- */

/* When the child had run so long, each thread last began a call. */
struct watch {
    double running, since[MOST_ROWS];
    uint64_t seen[MOST_ROWS];
};

static void print_file(const char *folder, const char *thread, const char *name) {
    char path[512], text[512];
    snprintf(path, sizeof path, "%s/%s/%s", folder, thread, name);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(text, sizeof text, file) != NULL) {
        fprintf(stderr, "  %s %s: %.*s\n", thread, name, (int)strcspn(text, "\n"), text);
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void report_hang(pid_t child, const struct watch *watch) {
    for (int i = 0; i < MOST_ROWS; i++) {
        const char *doing = shared->rows[i].doing;
        if (doing != NULL) {
            doing += origin - shared->origin; /* the child has the same strings, elsewhere */
            fprintf(stderr, "soak: thread %d (%s %d): %s: no call for %.0f s, after %llu\n",
                    shared->rows[i].thread, primitive_names[shared->rows[i].primitive], shared->rows[i].index,
                    doing, watch->running - watch->since[i], (unsigned long long)shared->rows[i].operations);
        }
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", child);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            const char *const files[] = {"comm", "wchan", "stat", "syscall"};
            for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                print_file(path, entry->d_name, files[i]);
            }
        }
    }
    closedir(folder);
}

/* True too for a round in which threads go on, and for ever. */
static bool hangs(struct watch *watch) {
    if (watch->running > 20 * round_seconds + 10 * limit_seconds) {
        return true;
    }
    for (int i = 0; i < MOST_ROWS; i++) {
        uint64_t operations = shared->rows[i].operations;
        if (operations != watch->seen[i] || shared->rows[i].doing == NULL) {
            watch->seen[i] = operations;
            watch->since[i] = watch->running;
        } else if (watch->running - watch->since[i] > limit_seconds) {
            return true;
        }
    }
    return false;
}

static void stop(pid_t child, enum fault fault, unsigned microseconds) {
    kill(child, SIGSTOP);
    usleep(microseconds);
    kill(child, SIGCONT);
    happens(fault);
}

/* Runs a round: NULL, or why it failed. */
static const char *run_round(uint64_t seed) {
    static char why[128];
    memset(shared, 0, sizeof *shared);
    shared->seed = seed;
    shared->chosen = faults_of(seed);
    pid_t child = fork();
    if (child == -1) {
        return "no process could be made";
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGINT, SIG_IGN);
        faults_before_start();
        char seconds[32];
        snprintf(seconds, sizeof seconds, "%f", round_seconds);
        execl("/proc/self/exe", "soak", "--child", seconds, NULL);
        _exit(127);
    }
    const bool has_group = is_chosen(fault_of_quota_periods) && limit_child(child);
    struct watch watch = {0};
    int status = 0;
    why[0] = '\0';
    while (waitpid(child, &status, why[0] == '\0' && !is_interrupted ? WNOHANG : 0) == 0) {
        double begin = now();
        usleep(25000);
        watch.running += now() - begin;
        bool may_stop = !shared->is_ending; /* a stop wakes sleepers, and would hide a lost wake-up */
        if (may_stop && is_chosen(fault_of_stops) && chance(150) == 0) {
            stop(child, fault_of_stops, chance(2000000));
        } else if (may_stop && is_chosen(fault_of_quota_periods) && !has_group) {
            stop(child, fault_of_quota_periods, 25000);
        }
        if (is_interrupted || hangs(&watch)) {
            if (!is_interrupted) {
                report_hang(child, &watch);
                snprintf(why, sizeof why, "a thread hangs");
            }
            kill(child, SIGKILL);
        }
    }
    if (has_group) {
        end_group();
    }
    if (why[0] == '\0' && status != 0) {
        snprintf(why, sizeof why, WIFSIGNALED(status) ? "ended by signal %d" : "ended with status %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return why[0] != '\0' ? why : NULL;
}

/* ---- The record: a line a round, of names and numbers ---- */

struct totals {
    uint64_t rounds, failures;
    double seconds;
    uint64_t operations[primitives], happened[faults], rounds_with[faults];
};

static void write_line(FILE *record, uint64_t seed, double seconds, const char *why) {
    uint64_t operations[primitives + 1] = {0};
    for (int i = 0; i < MOST_ROWS; i++) {
        operations[shared->rows[i].primitive] += shared->rows[i].operations;
    }
    FILE *const files[] = {record, stdout};
    for (int f = 0; f < 2; f++) {
        fprintf(files[f], "round seed %llu seconds %.1f", (unsigned long long)seed, seconds);
        for (int i = 0; i < primitives; i++) {
            fprintf(files[f], " %s %llu", primitive_names[i], (unsigned long long)operations[i]);
        }
        for (int i = 0; i < faults; i++) {
            if (is_chosen((enum fault)i)) {
                fprintf(files[f], " %s %llu", fault_names[i], (unsigned long long)shared->happened[i]);
            }
        }
        fprintf(files[f], why == NULL ? " ok\n" : " FAILED: %s\n", why);
        fflush(files[f]);
    }
}

static void add_word(struct totals *totals, const char *name, double number) {
    totals->seconds += strcmp(name, "seconds") == 0 ? number : 0;
    for (int i = 0; i < primitives; i++) {
        totals->operations[i] += strcmp(name, primitive_names[i]) == 0 ? (uint64_t)number : 0;
    }
    for (int i = 0; i < faults; i++) {
        if (strcmp(name, fault_names[i]) == 0) {
            totals->happened[i] += (uint64_t)number;
            totals->rounds_with[i] += number > 0;
        }
    }
}

static struct totals read_record(FILE *record) {
    struct totals totals = {0};
    char line[2048], name[64];
    rewind(record);
    while (fgets(line, sizeof line, record) != NULL) {
        if (strncmp(line, "round ", 6) != 0) {
            continue;
        }
        totals.rounds++;
        totals.failures += strstr(line, "FAILED") != NULL;
        const char *rest = line + 6;
        double number;
        for (int length; sscanf(rest, " %63s %lf%n", name, &number, &length) == 2; rest += length) {
            add_word(&totals, name, number);
        }
    }
    fseek(record, 0, SEEK_END);
    return totals;
}

static void summarise(const struct totals *totals) {
    uint64_t all = 0;
    for (int i = 0; i < primitives; i++) {
        all += totals->operations[i];
    }
    printf("\n%.2f hours, %llu rounds, %llu failed, %.1f million operations\n", totals->seconds / 3600,
           (unsigned long long)totals->rounds, (unsigned long long)totals->failures, (double)all / 1e6);
    for (int i = 0; i < primitives; i++) {
        printf("  %-26s%12llu\n", primitive_names[i], (unsigned long long)totals->operations[i]);
    }
    printf("faults survived, and the rounds that had them\n");
    for (int i = 0; i < faults; i++) {
        printf("  %-26s%12llu%8llu\n", fault_names[i], (unsigned long long)totals->happened[i],
               (unsigned long long)totals->rounds_with[i]);
    }
    printf("  clock steps: none: CLOCK_REALTIME is the machine's\n");
}

static bool share_memory(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, DESCRIPTOR, 0);
    return shared != MAP_FAILED;
}

int main(int count, char **words) {
    double hours = 0;
    if (count == 3 && strcmp(words[1], "--child") == 0 && share_memory()) {
        shared->origin = origin;
        child_run(atof(words[2]));
    }
    uint64_t rounds = 0, seed = 0;
    const char *path = NULL;
    for (int i = 1; i + 1 < count; i += 2) {
        const char *name = words[i], *value = words[i + 1];
        if (strcmp(name, "--hours") == 0) {
            hours = atof(value);
        } else if (strcmp(name, "--rounds") == 0) {
            rounds = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--round-seconds") == 0) {
            round_seconds = atof(value);
        } else if (strcmp(name, "--limit-seconds") == 0) {
            limit_seconds = atof(value);
        } else if (strcmp(name, "--record") == 0) {
            path = value;
        } else {
            count = 0;
        }
    }
    if (count % 2 == 0 || (hours <= 0 && rounds == 0 && seed == 0)) {
        fprintf(stderr, "soak --hours H | --rounds N | --seed N [--record FILE] [--round-seconds S] "
                        "[--limit-seconds S]\n");
        return 2;
    }
    FILE *record = path != NULL ? fopen(path, "a+e") : tmpfile();
    int memory = memfd_create("soak", MFD_CLOEXEC);
    if (record == NULL || ftruncate(memory, sizeof *shared) != 0 || dup2(memory, DESCRIPTOR) < 0 ||
        !share_memory()) {
        perror("soak");
        return 2;
    }
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    /* A record goes on with the next seed. */
    uint64_t next = seed != 0 ? seed : read_record(record).rounds + 1,
             last = next + (seed != 0 && rounds == 0 ? 1 : rounds);
    const char *why = NULL;
    for (double end = now() + hours * 3600; why == NULL && (hours > 0 ? now() < end : next < last); next++) {
        double begin = now();
        why = run_round(next);
        if (is_interrupted) {
            break;
        }
        write_line(record, next, now() - begin, why);
    }
    struct totals totals = read_record(record);
    summarise(&totals);
    if (why != NULL && !is_interrupted) {
        printf("soak: %s; scripts/soak --seed %llu replays the round\n", why, (unsigned long long)(next - 1));
    }
    return totals.failures > 0 || (why != NULL && !is_interrupted);
}
