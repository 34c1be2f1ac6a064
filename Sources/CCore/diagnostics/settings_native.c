/* SPDX-License-Identifier: Apache-2.0
 *
 * What is switched on, in code and by the environment, and writing the diagnosis.
 */
#include "diagnostics/objects.h"
#include "diagnostics/report.h"
#include "diagnostics/snapshot.h"
#include "diagnostics/text.h"
#include "platform/environment.h"
#include "platform/pages.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Writing ---- */

/* Around the JSON: viewer/diagnosis.html draws it, which no program carries with it. In a frame, if it is in the same
 * folder; until then the page says where it is. */
static const char page_begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Interlock report</title>\n"
    "<style>:root{color-scheme:light dark}body{margin:0}p{margin:12px}"
    "iframe{border:0;width:100%;height:0}[hidden]~iframe{display:block;height:100vh}</style>\n"
    "<p id=\"hint\">This report of Interlock is drawn by diagnosis.html: put that into the same folder, "
    "or open it and drop this file on it. An installation has it in share/interlock, the sources in "
    "viewer.</p>\n"
    "<script type=\"application/json\" id=\"report\">\n";
static const char page_end[] =
    "</script>\n<script>\n"
    "const [hint, report] = [\"hint\", \"report\"].map(id => document.getElementById(id));\n"
    "const frame = document.createElement(\"iframe\");\n"
    "[frame.title, frame.src] = [\"Report\", \"diagnosis.html\"];\n"
    "frame.onload = () => frame.contentWindow.postMessage(report.textContent, \"*\");\n"
    "addEventListener(\"message\", () => { hint.hidden = true; });\n"
    "document.body.append(frame);\n</script>\n</html>\n";

static void write_form(const struct ilk__snapshot *snapshot, ilk_diagnosis_form form,
                       struct ilk__text *text) {
    switch (form) {
    case ILK_AS_TEXT:
        ilk__text_add(text, "interlock: the threads of process %d\n", (int)getpid());
        ilk__snapshot_write_text(snapshot, text);
        return;
    case ILK_AS_JSON:
        ilk__snapshot_write_json(snapshot, text);
        return;
    case ILK_AS_PAGE:
        ilk__text_add_long(text, page_begin);
        ilk__snapshot_write_json(snapshot, text);
        ilk__text_add_long(text, page_end);
        return;
    }
}

ilk_status ilk_write_diagnosis(int file, ilk_diagnosis_form form) {
    enum { BUFFER = 64 * 1024 };
    struct ilk__snapshot snapshot;
    if (file < 0 || !ilk__snapshot_take(&snapshot)) {
        errno = file < 0 ? EBADF : ENOMEM;
        return ILK_INVALID;
    }
    char *pages = ilk__pages_allocate(BUFFER);
    int error = ENOMEM;
    if (pages != NULL) {
        struct ilk__text text;
        ilk__text_begin(&text, pages, BUFFER, file);
        write_form(&snapshot, form, &text);
        ilk__text_end(&text);
        error = text.error;
        ilk__pages_give_back(pages, BUFFER);
    }
    ilk__snapshot_give_back(&snapshot);
    errno = error;
    return error == 0 ? ILK_OK : ILK_INVALID;
}

/* ---- The file at exit ---- */

static char exit_path[1024];
static pid_t exit_process; /* that the path was given to */

static bool ends_in(const char *string, const char *end) {
    const size_t length = strlen(string);
    return length >= strlen(end) && strcmp(string + length - strlen(end), end) == 0;
}

/* A file that the process's user alone has made, and knows by this path alone: a link may have been laid by another
 * user to a file that this one may write. */
static bool is_own_file(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
           status.st_uid == geteuid();
}

/* Another process that writes its own diagnosis there, as it was started with the same environment. Until the file is
 * closed, others find this one. */
static bool is_anothers(int file) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES);
}

/* Empties the file; else an errno. */
static int begin_exit_file(int file) {
    if (!is_own_file(file)) {
        return EPERM;
    }
    if (is_anothers(file)) {
        return EBUSY;
    }
    return ftruncate(file, 0) == 0 ? 0 : errno;
}

/* A file, emptied. -1: none, and errno tells why. */
static int open_exit_file(void) {
    /* A pipe without a reader is refused, not waited for. */
    const int file =
        open(exit_path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    const int error = file >= 0 ? begin_exit_file(file) : 0;
    if (error != 0) {
        (void)close(file);
        errno = error;
        return -1;
    }
    return file;
}

static void write_at_exit(void) {
    if (exit_path[0] == '\0') {
        (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_TEXT);
        return;
    }
    if (getpid() != exit_process) {
        return; /* a child of fork: the file is its parent's */
    }
    const int file = open_exit_file();
    const ilk_diagnosis_form form = ends_in(exit_path, ".json")   ? ILK_AS_JSON
                                    : ends_in(exit_path, ".html") ? ILK_AS_PAGE
                                                                  : ILK_AS_TEXT;
    if (file < 0 || ilk_write_diagnosis(file, form) != ILK_OK) {
        (void)fprintf(stderr,
                      "interlock: INTERLOCK_DIAGNOSTICS: the diagnosis cannot be written to \"%s\": %s\n",
                      exit_path, strerror(errno));
    }
    if (file >= 0) {
        (void)close(file);
    }
}

/* ---- The environment ---- */

struct settings {
    uint32_t what;
    int signal;
    double limit_s;
};

/* The whole of `text` as a number from `least` to `most`. */
static bool read_number(const char *text, double least, double most, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= least && *value <= most;
}

/* False: no such word. */
static bool read_word(const char *word, struct settings *settings) {
    enum { SIGNALS = 64, DAY_S = 86400 };
    double value;
    if (strcmp(word, "order") == 0) {
        settings->what |= ILK_DIAGNOSE_ORDER;
    } else if (strcmp(word, "contention") == 0) {
        settings->what |= ILK_DIAGNOSE_CONTENTION;
    } else if (strcmp(word, "hang") == 0) {
        settings->what |= ILK_DIAGNOSE_HANG;
    } else if (strcmp(word, "abort") == 0) {
        ilk_set_report_abort(true);
    } else if (strncmp(word, "limit=", 6) == 0 && read_number(word + 6, 0.001, DAY_S, &settings->limit_s)) {
        settings->what |= ILK_DIAGNOSE_HANG;
    } else if (strncmp(word, "signal=", 7) == 0 && read_number(word + 7, 1, SIGNALS, &value) &&
               value == (int)value) {
        settings->signal = (int)value;
        settings->what |= ILK_DIAGNOSE_HANG;
    } else if (strncmp(word, "file=", 5) == 0 && word[5] != '\0' && strlen(word + 5) < sizeof exit_path) {
        (void)strncpy(exit_path, word + 5, sizeof exit_path - 1);
        exit_process = getpid();
    } else {
        return false;
    }
    return true;
}

static void read_words(const char *value, struct settings *settings) {
    while (*value != '\0') {
        char word[sizeof exit_path + 16]; /* the longest that there is; what is cut is none */
        const size_t length = strcspn(value, ",");
        (void)snprintf(word, sizeof word, "%.*s", (int)length, value);
        value += length + (value[length] == ',' ? 1 : 0);
        if (length > 0 && !read_word(word, settings)) {
            (void)fprintf(
                stderr,
                "interlock: INTERLOCK_DIAGNOSTICS: \"%s\" is none of order, contention, hang, abort, "
                "limit=SECONDS, signal=NUMBER, file=PATH; it is ignored\n",
                word);
        }
    }
}

__attribute__((constructor)) static void read_environment(void) {
    const char *value = ilk__environment("INTERLOCK_DIAGNOSTICS");
    if (value == NULL) {
        return;
    }
    struct settings settings = {.signal = SIGQUIT};
    read_words(value, &settings);
    ilk_diagnose(settings.what);
    if ((settings.what & ILK_DIAGNOSE_HANG) != 0 && ilk_set_hang_signal(settings.signal) != ILK_OK) {
        (void)fprintf(stderr, "interlock: INTERLOCK_DIAGNOSTICS: no reports at signal %d: %s\n",
                      settings.signal, strerror(errno));
    }
    if (settings.limit_s > 0 && ilk_set_hang_limit((uint64_t)(settings.limit_s * 1e9)) != ILK_OK) {
        (void)fprintf(stderr, "interlock: INTERLOCK_DIAGNOSTICS: no thread for the limit of waits\n");
    }
    if ((settings.what & ILK_DIAGNOSE_CONTENTION) != 0 || exit_path[0] != '\0') {
        (void)atexit(write_at_exit);
    }
}
