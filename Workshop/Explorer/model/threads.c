/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that the core starts: a body runs the kept function and context. Waits for one, and joins, are
 * those for a modelled mutex. Replaces platform/threads_native.c.
 */
#include <platform/threads.h>

#include "../engine/state.h"
#include <string.h>

static struct {
    struct started {
        void (*function)(void *context);
        void *context;
        bool has_ended;
        uint32_t begin, end; /* never change; stand for starting and joining in the memory model */
    } started[EX_BODIES];
    unsigned count, refused;
    bool no_more;
} threads;

void ex_threads_reset(void) {
    memset(&threads, 0, sizeof threads);
}

void ex_refuse_threads(unsigned count) {
    threads.refused = count;
}

bool ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                       void (*function)(void *context), void *context) {
    (void)options;
    ex_point();
    if (threads.refused > 0) {
        threads.refused--;
        return false;
    }
    if (threads.count == EX_BODIES) {
        ex_fail(EX_BEYOND, "the core starts more than %d threads", EX_BODIES);
    }
    struct started *started = &threads.started[threads.count];
    started->function = function;
    started->context = context;
    ex_release_object(&started->begin, sizeof started->begin);
    memset(thread, 0, sizeof *thread);
    thread->handle = (pthread_t)++threads.count;
    ex_wrote();
    ex_wake(EX_ON_MUTEX, &threads, EX_THREADS);
    if (ex.recording) {
        ex_trace(NULL, "starts thread %u", threads.count - 1);
    }
    return true;
}

void ex_no_more_threads(void) {
    ex_point();
    threads.no_more = true;
    ex_wrote();
    ex_wake(EX_ON_MUTEX, &threads, EX_THREADS);
}

bool ex_run_started_thread(unsigned index) {
    ex_point();
    while (index >= threads.count) {
        if (threads.no_more) {
            return false;
        }
        ex_wait(EX_ON_MUTEX, &threads, 0, EX_NEVER);
    }
    struct started *started = &threads.started[index];
    ex_acquire_object(&started->begin, sizeof started->begin);
    started->function(started->context);
    ex_point();
    ex_release_object(&started->end, sizeof started->end);
    started->has_ended = true;
    ex_wrote();
    ex_wake(EX_ON_MUTEX, started, EX_THREADS);
    return true;
}

void ilk__thread_join(ilk__thread *thread) {
    struct started *started = &threads.started[(unsigned long)thread->handle - 1];
    ex_point();
    while (!started->has_ended) {
        ex_wait(EX_ON_MUTEX, started, 0, EX_NEVER);
    }
    ex_acquire_object(&started->end, sizeof started->end);
}

/* Only at the end of the process, which no scenario has. */
bool ilk__thread_join_soon(ilk__thread *thread) {
    (void)thread;
    return false;
}

uint32_t ilk__thread_processors(void) {
    return 2;
}
