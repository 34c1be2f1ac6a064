/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock where the system really refuses membarrier(2): a seccomp filter, installed before the slots'
 * tests are executed anew, answers as a container's policy (EPERM) or an old kernel (ENOSYS).
 */
#include "support/sandbox.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *program, *claim;
} claims[] = {
    {MODE_TEST, "the_fence_is_left_out_only_where_membarrier_is_granted"},
    {MODE_TEST, "thirty_one_reads_move_it_to_slots"},
    {SLOTS_TEST, "a_writer_sleeps_until_the_last_slot_is_free"},
    {SLOTS_TEST, "readers_that_met_a_writer_come_in_before_the_next"},
    {SLOTS_TEST, "a_try_to_write_beside_a_slot_answers_false_and_changes_nothing"},
    {SLOTS_TEST, "an_upgrade_sleeps_until_the_slots_are_free"},
    {SLOTS_TEST, "a_downgraded_lock_has_counted_readers_beside_slots"},
    {SLOTS_TEST, "two_locks_of_one_slot_are_held_at_once"},
    {SLOTS_TEST, "without_membarrier_it_never_leaves_the_fence_out"},
    {SLOTS_ENDS_TEST, "destroying_what_a_slot_holds_is_reported"},
    {SLOTS_STRESS_TEST, "a_lock_changes_its_mode_under_load_and_excludes_in_each"},
};

static void expect_to_hold(const char *program, const char *claim, int error) {
    fflush(NULL);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        if (!sandbox_refuse(SYS_membarrier, error) || syscall(SYS_membarrier, 0, 0, 0) != -1 ||
            errno != error) {
            perror("seccomp");
            _exit(99);
        }
        execl(program, program, claim, (char *)NULL);
        _exit(98);
    }
    int status;
    while (waitpid(child, &status, 0) < 0) {
        check_equal(errno, EINTR);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "%s %s with membarrier refused by error %d: status %#x\n", program, claim, error,
                (unsigned)status);
        check_failed(__FILE__, __LINE__, "it holds without membarrier");
    }
}

static void expect_all_to_hold(int error) {
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        expect_to_hold(claims[i].program, claims[i].claim, error);
    }
}

TEST(everything_holds_where_a_policy_refuses_membarrier) {
    expect_all_to_hold(EPERM);
}

TEST(everything_holds_where_the_kernel_has_no_membarrier) {
    expect_all_to_hold(ENOSYS);
}
