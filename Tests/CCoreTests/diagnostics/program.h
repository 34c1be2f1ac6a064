/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program, "diagnosed" for the most part, with INTERLOCK_DIAGNOSTICS in its environment.
 */
#ifndef INTERLOCK_TESTS_DIAGNOSTICS_PROGRAM_H
#define INTERLOCK_TESTS_DIAGNOSTICS_PROGRAM_H

#include "diagnostics/reports.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>

struct program {
    const char *path; /* NULL: "diagnosed" */
    const char *what;
    const char *settings;
    int signal;        /* sent once the program says that it is wedged; 0: none */
    const char *until; /* the program is ended once this was printed; NULL: it ends by itself */
    uid_t user;        /* that runs it; 0: the test's own */
};

static char printed[32 * 1024];

static inline void exec_program(const struct program *program, int output) {
    (void)setenv("INTERLOCK_DIAGNOSTICS", program->settings, 1);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    if (program->user != 0 && setuid(program->user) != 0) {
        _exit(126);
    }
    alarm(60);
    const char *path = program->path != NULL ? program->path : DIAGNOSED_PROGRAM;
    (void)execl(path, path, program->what, (char *)NULL);
    _exit(127);
}

/* What the program prints, until it ends. Its status as waitpid(2) gives it. */
static inline int run_program(const struct program *program) {
    int ends[2];
    check_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        exec_program(program, ends[1]);
    }
    close(ends[1]);
    size_t used = 0;
    printed[0] = '\0';
    bool is_signalled = false, is_over = false;
    ssize_t length;
    while ((length = read(ends[0], printed + used, sizeof printed - 1 - used)) > 0) {
        used += (size_t)length;
        printed[used] = '\0';
        if (program->signal != 0 && !is_signalled && strstr(printed, "wedged") != NULL) {
            is_signalled = true;
            check_equal(kill(child, program->signal), 0);
        }
        if (program->until != NULL && !is_over && strstr(printed, program->until) != NULL) {
            is_over = true;
            check_equal(kill(child, SIGKILL), 0);
        }
    }
    close(ends[0]);
    int status;
    check_equal(waitpid(child, &status, 0), child);
    return status;
}

#endif
