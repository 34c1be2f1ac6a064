/* SPDX-License-Identifier: Apache-2.0
 *
 * See fork.h.
 */
#include "support/fork.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ThreadSanitizer's runtime now and then fails a check of its own in the child of a threaded process. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILDREN_ARE_WATCHED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CHILDREN_ARE_WATCHED 1
#endif

void need_children(void) {
#ifdef CHILDREN_ARE_WATCHED
    print_message(
        "skipped: ThreadSanitizer does not support threads in the child of a process with threads\n");
    skip();
#endif
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
