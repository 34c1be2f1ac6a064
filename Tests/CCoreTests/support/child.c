/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse in a child process: what it prints, and how it ends.
 */
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Misuse is often a race as well, which ThreadSanitizer would report first. */
#if HAS_THREAD_SANITIZER
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
static void stop_watching(void) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
/* Before a usual end: ThreadSanitizer takes one without this for a mistake. */
static void watch_again(void) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
static void stop_watching(void) {}
static void watch_again(void) {}
#endif

static void read_all(int file, char *text, size_t size) {
    size_t used = 0;
    char chunk[256];
    for (;;) {
        ssize_t length = read(file, chunk, sizeof chunk);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length <= 0) {
            break;
        }
        size_t fits = size - 1 - used < (size_t)length ? size - 1 - used : (size_t)length;
        memcpy(text + used, chunk, fits);
        used += fits;
    }
    text[used] = '\0';
}

int child_run(void (*body)(void *context), void *context, char *output, size_t size) {
    int ends[2];
    check_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL); /* cmocka's handler would call it a failed test */
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(30); /* a hang ends as SIGALRM */
        stop_watching();
        body(context);
        watch_again();
        _exit(0);
    }
    close(ends[1]);
    read_all(ends[0], output, size);
    close(ends[0]);
    int status;
    while (waitpid(child, &status, 0) < 0) {
        check_equal(errno, EINTR);
    }
    return status;
}

void expect_misuse(void (*misuse)(void *context), void *context, const char *call, const char *text) {
    char output[4096];
    const int status = child_run(misuse, context, output, sizeof output);
    char start[128];
    snprintf(start, sizeof start, "interlock: %s(", call);
    bool ended = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    const char *line_end = strchr(output, '\n');
    bool one_line = line_end != NULL && line_end[1] == '\0';
    if (!ended || !one_line || strncmp(output, start, strlen(start)) != 0 || strstr(output, text) == NULL) {
        fprintf(stderr, "expected SIGABRT after one line \"%s...\" with \"%s\"; got status %#x after:\n%s\n",
                start, text, (unsigned)status, output);
        check_failed(__FILE__, __LINE__, "misuse is reported");
    }
}
