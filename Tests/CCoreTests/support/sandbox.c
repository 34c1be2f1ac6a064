/* SPDX-License-Identifier: Apache-2.0
 *
 * See sandbox.h. The numbers are this machine's.
 */
#if defined(__linux__)

#include "support/sandbox.h"

#include "support/test.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { FUTEX_OPERATION = 127 }; /* without its flags */

static bool install(struct sock_filter *program, size_t length) {
    const struct sock_fprog filter = {(unsigned short)length, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static uint32_t answer(int error) {
    return SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA);
}

void need_sandbox(void) {
    /* A system that has filters looks for this one where it points to. */
    skip_if(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != 0 && errno != EFAULT,
            "no seccomp filter can be installed here (under qemu none can)");
}

bool sandbox_refuse(long call, int error) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(program, sizeof program / sizeof *program);
}

bool sandbox_refuse_futex(unsigned operation, int error) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FUTEX_OPERATION),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, operation, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(program, sizeof program / sizeof *program);
}

#endif
