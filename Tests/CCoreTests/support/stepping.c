/* SPDX-License-Identifier: Apache-2.0
 *
 * See stepping.h.
 */
#include "support/stepping.h"

#include "platform/signals.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

void __real_ilk__signals_hold(sigset_t *before);
void __real_ilk__signals_release(const sigset_t *before);
void __wrap_ilk__signals_hold(sigset_t *before);
void __wrap_ilk__signals_release(const sigset_t *before);

enum { MOST = 1 << 16, SHORT = 500, PLACES_OF_A_LONG_CALL = 100 };

static const struct stepped *stepped;
static void *stepped_context;
static volatile size_t executed, place; /* instructions so far; when the handler comes */
static volatile bool is_stepping;       /* until the handler has run, or the call has returned */
static void (*volatile seen_by)(const unsigned char *instruction); /* NULL: a handler comes */
static volatile bool is_in_call;                                   /* of step_through */
static volatile int holds;                                         /* the library holds signals */
static size_t stops[MOST]; /* where the run without a handler stopped */

#if defined(__x86_64__) && !IS_SANITIZED

void skip_unless_stepping(void) {}

static void set_trap_flag(ucontext_t *context, bool is_on) {
    const long long trap_flag = 0x100;
    greg_t *registers = context->uc_mcontext.gregs;
    registers[REG_EFL] = is_on ? registers[REG_EFL] | trap_flag : registers[REG_EFL] & ~trap_flag;
}

/* ---- A breakpoint: the call runs at full speed to its place ---- */

extern char __executable_start, etext;
static const unsigned char int3 = 0xcc;
static unsigned char *volatile breakpoint; /* NULL: none, and the processor stops after each instruction */
static unsigned char replaced;             /* the byte that was there */
static size_t executions_before;           /* of that instruction, before the place */
static pid_t stepping_thread;

/* False: the text cannot be written. */
static bool text_is_writable(void) {
    static int answer = -1;
    if (answer < 0) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *begin = &__executable_start - (size_t)&__executable_start % page;
        answer = mprotect(begin, (size_t)(&etext - begin), PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
    }
    return answer;
}

/* At the instruction `at` of the run that was recorded. False where it is not the program's own. */
static bool set_breakpoint(size_t at) {
    if (stops[at] < (size_t)&__executable_start || stops[at] >= (size_t)&etext || !text_is_writable()) {
        return false;
    }
    executions_before = 0;
    for (size_t before = 0; before < at; before++) {
        executions_before += stops[before] == stops[at] ? 1 : 0;
    }
    stepping_thread = gettid();
    breakpoint = (unsigned char *)stops[at];
    replaced = *breakpoint;
    *breakpoint = int3;
    return true;
}

/* The place may be in here. */
static void remove_breakpoint(void) {
    unsigned char *was = breakpoint;
    if (was != NULL) {
        *was = replaced;
        breakpoint = NULL;
    }
}

static void stop_at_breakpoint(ucontext_t *context) {
    greg_t *instruction = &context->uc_mcontext.gregs[REG_RIP];
    if (*breakpoint != int3) { /* one instruction behind it */
        *breakpoint = int3;
        set_trap_flag(context, false);
        return;
    }
    *breakpoint = replaced;
    *instruction = (greg_t)breakpoint;
    if (gettid() != stepping_thread) { /* gives it up */
        breakpoint = NULL;
    } else if (holds == 0 && executions_before-- == 0) {
        breakpoint = NULL;
        is_stepping = false;
        stepped->handler(stepped_context);
    } else {
        set_trap_flag(context, true);
    }
}

static void step_to_place(size_t instruction) {
    if (place == MOST && executed < MOST) {
        stops[executed] = instruction;
    }
    if (executed++ == place) {
        is_stepping = false;
        stepped->handler(stepped_context);
    }
}

static void step(int signal_number, siginfo_t *info, void *context) {
    if (breakpoint != NULL) {
        stop_at_breakpoint(context);
        return;
    }
    const size_t instruction = (size_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (is_stepping && holds == 0) {
        if (seen_by == NULL) {
            step_to_place(instruction);
        } else if (is_in_call) {
            seen_by((const unsigned char *)instruction);
        }
    }
    set_trap_flag(context, is_stepping && holds == 0);
}

static void start_traps(void) {
    check_equal(raise(SIGTRAP), 0);
}

#else

void skip_unless_stepping(void) {
    skip_because("single steps need x86-64, and no sanitizer's instructions beside the call's");
}

static void step(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number, (void)info, (void)context;
}

static void start_traps(void) {}

static unsigned char *const breakpoint = NULL;

static bool set_breakpoint(size_t at) {
    return false;
}

static void remove_breakpoint(void) {}

#endif

void __wrap_ilk__signals_hold(sigset_t *before) {
    holds++; /* the next instruction takes the trap flag down */
    __real_ilk__signals_hold(before);
}

void __wrap_ilk__signals_release(const sigset_t *before) {
    __real_ilk__signals_release(before);
    holds--;
    if (is_stepping && holds == 0 && breakpoint == NULL) {
        start_traps();
    }
}

/* False: the call has ended before the place. */
static bool run_to(size_t at, bool by_breakpoint) {
    executed = 0;
    place = at;
    stepped->prepare(stepped_context);
    is_stepping = true;
    if (!by_breakpoint || !set_breakpoint(at)) {
        start_traps();
    }
    stepped->call(stepped_context);
    remove_breakpoint();
    const bool has_run = !is_stepping;
    is_stepping = false;
    check_during("a handler after this instruction", at + 1);
    stepped->settle(stepped_context);
    return has_run;
}

/* By a breakpoint where that comes to the place, which it does not in what only starts the traps. */
static bool step_to(size_t at) {
    return run_to(at, true) || run_to(at, false);
}

static bool is_repeated(size_t at) {
    size_t before = 0;
    while (stops[before] != stops[at]) {
        before++;
    }
    return before < at;
}

/* The places, as numbers of instructions; how many they are. */
static size_t choose_places(size_t instructions, size_t *places) {
    if (instructions <= SHORT) {
        for (size_t at = 0; at < instructions; at++) {
            places[at] = at;
        }
        return instructions;
    }
    static size_t first[MOST];
    size_t firsts = 0;
    for (size_t at = 0; at < instructions; at++) {
        if (!is_repeated(at)) {
            first[firsts++] = at;
        }
    }
    const size_t count = firsts < PLACES_OF_A_LONG_CALL ? firsts : PLACES_OF_A_LONG_CALL;
    for (size_t index = 0; index < count; index++) {
        places[index] = first[index * firsts / count];
    }
    return count;
}

static void take_traps(void) {
    const struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    check_equal(sigaction(SIGTRAP, &action, NULL), 0);
}

void step_through(void (*call)(void *context), void *context, void (*see)(const unsigned char *instruction)) {
    take_traps();
    seen_by = see;
    is_stepping = true;
    start_traps();
    is_in_call = true;
    call(context);
    is_in_call = false;
    is_stepping = false;
    seen_by = NULL;
}

size_t step_everywhere(const struct stepped *calls, void *context) {
    take_traps();
    stepped = calls;
    stepped_context = context;
    check(!run_to(MOST, false));
    check(executed > 2 && executed < MOST); /* the processor does stop */
    static size_t places[MOST];
    const size_t count = choose_places(executed, places);
    size_t reached = 0;
    for (size_t index = 0; index < count; index++) {
        reached += step_to(places[index]) ? 1 : 0;
    }
    check_during(NULL, 0);
    check(reached > 0);
    return reached;
}
