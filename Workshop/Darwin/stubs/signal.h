/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals: a set is a number, the handler is in a union.
 */
#ifndef INTERLOCK_STUB_SIGNAL_H
#define INTERLOCK_STUB_SIGNAL_H

#include <sys/types.h>

typedef uint32_t sigset_t;

struct siginfo;

union __sigaction_u {
    void (*__sa_handler)(int);
    void (*__sa_sigaction)(int, struct siginfo *, void *);
};

struct sigaction {
    union __sigaction_u __sigaction_u;
    sigset_t sa_mask;
    int sa_flags;
};

#define sa_handler __sigaction_u.__sa_handler

#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGFPE 8
#define SIGBUS 10
#define SIGSEGV 11
#define SIGSYS 12
#define SA_RESTART 0x0002
#define SIG_BLOCK 1
#define SIG_UNBLOCK 2
#define SIG_SETMASK 3

int sigaction(int signal, const struct sigaction *action, struct sigaction *before);
int sigemptyset(sigset_t *set);
int sigfillset(sigset_t *set);
int sigaddset(sigset_t *set, int signal);
int sigdelset(sigset_t *set, int signal);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before);

#endif
