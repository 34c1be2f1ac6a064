/* SPDX-License-Identifier: Apache-2.0
 *
 * See fork.h.
 */
#include "support/fork.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void need_children(void) {
    skip_if(HAS_THREAD_SANITIZER,
            "ThreadSanitizer's runtime fails checks of its own in the child of a threaded process");
    alarm(LONGEST);
}

void expect_exit(pid_t child, int code) {
    int status;
    check(child > 0);
    check_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
        fprintf(stderr, "the child ended with status %#x\n", (unsigned)status);
        check_failed(__FILE__, __LINE__, "the child ends as it should");
    }
}

bool is_child(pid_t pid) {
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka's handlers would go on with the next test */
        signal(SIGSEGV, SIG_DFL);
        alarm(LONGEST);
    }
    return pid == 0;
}
