/* SPDX-License-Identifier: Apache-2.0
 *
 * One execution: thread 0 runs setup(), starts the bodies, waits for them and runs check(). A failure drops
 * the fibers where they stand; the next setup(), the heap's reset and the restored static data undo it.
 */
#include "state.h"
#include <stdarg.h>
#include <string.h>

ex_execution ex;

static ex_fiber engine;
static bool opened;

const char *ex_title(unsigned thread) {
    static const char *const plain[] = {"main",     "thread 1", "thread 2", "thread 3",
                                        "thread 4", "thread 5", "thread 6"};
    const char *title = thread > 0 ? ex.scenario->titles[thread - 1] : NULL;
    return title != NULL ? title : plain[thread];
}

const char *ex_verdict_name(ex_verdict verdict) {
    static const char *const names[] = {"clean",           "assertion",       "data race",   "deadlock",
                                        "lost wake-up",    "livelock",        "dead memory", "misuse",
                                        "unreached state", "beyond the model"};
    return names[verdict];
}

static _Noreturn void stop(ex_verdict verdict, const char *file, int line, const char *format,
                           va_list arguments) {
    ex.verdict = verdict;
    ex.failed_file = file;
    ex.failed_line = line;
    vsnprintf(ex.message, sizeof ex.message, format, arguments);
    ex.running = false;
    ex_fiber dropped;
    ex_fiber_switch(&dropped, &engine);
    __builtin_unreachable();
}

void ex_fail(ex_verdict verdict, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    stop(verdict, NULL, 0, format, arguments);
}

void ex_fail_at(ex_verdict verdict, const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    stop(verdict, file, line, format, arguments);
}

void ex_note(const char *format, ...) {
    if (ex.recording) {
        char text[100];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        ex_trace(NULL, "%s", text);
    }
}

void ex_time_passes(uint64_t nanoseconds) {
    ex_point();
    ex.clock_ns += nanoseconds;
    if (ex.recording) {
        ex_trace(NULL, "time passes: it is %llu ns", (unsigned long long)ex.clock_ns);
    }
}

unsigned ex_thread_index(void) {
    return ex.current;
}

unsigned ex_stack_owner(const void *object) {
    uintptr_t offset = (uintptr_t)object - ex_stack_base;
    return offset < (uintptr_t)EX_THREADS * EX_STACK_SIZE ? (unsigned)(offset / EX_STACK_SIZE) : 0;
}

static void thread_main(void) {
    unsigned index = ex.current;
    ex.scenario->threads[index - 1]();
    ex_thread *me = &ex.thread[index];
    if (me->hook != NULL) {
        ex_point();
        void (*hook)(void *) = me->hook;
        me->hook = NULL;
        if (ex.recording) {
            ex_trace(NULL, "thread exit");
        }
        hook(me->hook_context);
    }
    ex_leave();
    __builtin_unreachable();
}

static void pass_knowledge(unsigned from, unsigned to) {
    ex_knowledge_join(&ex.thread[to].now, &ex.thread[from].now);
}

static void main_main(void) {
    const ex_scenario *scenario = ex.scenario;
    if (scenario->setup != NULL) {
        scenario->setup();
    }
    ex.thread[0].now.clock.at[0]++;
    for (unsigned i = 1; i < ex.threads; i++) {
        pass_knowledge(0, i);
        ex_fiber_start(&ex.thread[i].fiber, i, thread_main);
        if ((scenario->born_in_child & (1u << (i - 1))) == 0) {
            ex.runnable |= 1u << i;
        }
    }
    ex.unfinished = ex.runnable & ~1u;
    ex_wait(EX_ON_JOIN, &ex, 0, EX_NEVER);
    for (unsigned i = 1; i < ex.threads; i++) {
        pass_knowledge(i, 0);
    }
    if (scenario->check != NULL) {
        scenario->check();
    }
    ex.running = false;
    ex_fiber dropped;
    ex_fiber_switch(&dropped, &engine);
    __builtin_unreachable();
}

void ex_keep_only_current(void) {
    unsigned me = 1u << ex.current;
    for (unsigned i = 1; i < ex.threads; i++) {
        if (i != ex.current) {
            ex.thread[i].waiting = EX_NOT_WAITING;
            ex.thread[i].waits_for = NULL;
            /* The child reads nothing stale. */
            ex_knowledge_join(&ex.thread[ex.current].now, &ex.thread[i].now);
        }
    }
    ex.runnable &= me;
    ex.yielded &= me;
    ex.unfinished &= me;
    ex.timed = ex.asleep = 0;
}

void ex_begin_child_threads(void) {
    const unsigned born = (ex.scenario->born_in_child << 1) & ((1u << ex.threads) - 1);
    for (unsigned i = 1; i < ex.threads; i++) {
        if ((born & (1u << i)) != 0) {
            pass_knowledge(ex.current, i);
        }
    }
    ex.runnable |= born;
    ex.unfinished |= born;
}

static void begin(const ex_scenario *scenario, bool weak, bool recording) {
    ex.scenario = scenario;
    ex.weak = weak;
    ex.stale_in_a_row = scenario->stale_in_a_row != 0 ? scenario->stale_in_a_row : EX_STALENESS;
    ex.recording = recording;
    ex.current = 0;
    ex.runnable = 1;
    ex.yielded = ex.timed = ex.asleep = ex.unfinished = 0;
    ex.steps = 0;
    ex.step_limit = scenario->step_limit != 0 ? scenario->step_limit : 2000;
    ex.arrivals = 0;
    ex.writes = 0;
    ex.clock_ns = 1000;
    ex.spurious_wakeups = scenario->spurious_wakeups;
    ex.timeouts = scenario->timeouts;
    ex.weak_failures = scenario->weak_failures;
    ex.signals = scenario->handler != NULL ? 1 : 0;
    ex.signals_held = false;
    ex.verdict = EX_CLEAN;
    ex.threads = 1;
    while (ex.threads <= EX_BODIES && scenario->threads[ex.threads - 1] != NULL) {
        ex.threads++;
    }
    for (unsigned i = 0; i < EX_THREADS; i++) {
        ex_thread *thread = &ex.thread[i];
        thread->waiting = EX_NOT_WAITING;
        thread->waits_for = NULL;
        thread->ended = false;
        thread->hook = NULL;
        thread->writes = 0;
        thread->news = UINT32_MAX;
        ex_knowledge_clear(&thread->now);
        ex_knowledge_clear(&thread->heard);
        ex_knowledge_clear(&thread->offered);
    }
    ex_memory_reset();
    ex_race_reset();
    ex_heap_reset();
    if (recording) {
        ex_trace_clear();
    }
}

ex_verdict ex_run_once(const ex_scenario *scenario, bool weak, bool recording) {
    if (!opened) {
        opened = true;
        ex_fibers_open(EX_THREADS);
        ex_heap_open();
        ex_globals_save();
    }
    ex_globals_restore();
    begin(scenario, weak, recording);
    ex_ports_reset();
    ex_strategy_start_execution();
    ex.running = true;
    ex_fiber_start(&ex.thread[0].fiber, 0, main_main);
    ex_fiber_switch(&engine, &ex.thread[0].fiber);
    return ex.verdict;
}
