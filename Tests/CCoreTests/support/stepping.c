/* SPDX-License-Identifier: Apache-2.0
 *
 * See stepping.h.
 */
#include "support/stepping.h"

#include "platform/signals.h"
#include <signal.h>
#include <ucontext.h>

void __real_ilk__signals_hold(sigset_t *before);
void __real_ilk__signals_release(const sigset_t *before);
void __wrap_ilk__signals_hold(sigset_t *before);
void __wrap_ilk__signals_release(const sigset_t *before);

static const struct stepped *stepped;
static void *stepped_context;
static volatile size_t place, handler_place;
static volatile bool is_stepping; /* until the handler has run, or the call has returned */
static volatile int holds;        /* the library holds signals */

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(SANITIZED)

void skip_unless_stepping(void) {
}

static void set_trap_flag(ucontext_t *context, bool is_on) {
    const long long trap_flag = 0x100;
    greg_t *registers = context->uc_mcontext.gregs;
    registers[REG_EFL] = is_on ? registers[REG_EFL] | trap_flag : registers[REG_EFL] & ~trap_flag;
}

static void step(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number;
    (void)info;
    if (is_stepping && holds == 0 && place++ == handler_place) {
        is_stepping = false;
        stepped->handler(stepped_context);
    }
    set_trap_flag(context, is_stepping && holds == 0);
}

static void start_traps(void) {
    check_equal(raise(SIGTRAP), 0);
}

#else

void skip_unless_stepping(void) {
    print_message("skipped: single steps need x86-64, and no sanitizer's instructions beside the call's\n");
    skip();
}

static void step(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number, (void)info, (void)context;
}

static void start_traps(void) {
}

#endif

void __wrap_ilk__signals_hold(sigset_t *before) {
    holds++; /* the next instruction takes the trap flag down */
    __real_ilk__signals_hold(before);
}

void __wrap_ilk__signals_release(const sigset_t *before) {
    __real_ilk__signals_release(before);
    holds--;
    if (is_stepping && holds == 0) {
        start_traps();
    }
}

/* False: the call has ended before the place. */
static bool step_to(size_t at) {
    place = 0;
    handler_place = at;
    stepped->prepare(stepped_context);
    is_stepping = true;
    start_traps();
    stepped->call(stepped_context);
    const bool has_run = !is_stepping;
    is_stepping = false;
    check_during("a handler after this instruction", at + 1);
    stepped->settle(stepped_context);
    return has_run;
}

size_t step_everywhere(const struct stepped *calls, void *context) {
    const struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    check_equal(sigaction(SIGTRAP, &action, NULL), 0);
    stepped = calls;
    stepped_context = context;
    size_t places = 0;
    while (step_to(places)) {
        places++;
    }
    check_during(NULL, 0);
    check(places > 2); /* the processor does stop */
    return places;
}
