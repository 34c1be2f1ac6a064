/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads by pthread. What a thread is to be called, and its nice value, the thread itself tells the system, which
 * takes both for the calling thread only on some systems.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setname_np, sched_getaffinity, syscall */
#endif

#include "platform/threads.h"

#include "platform/signals.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#endif

enum { NAME_SIZE = 16 };

struct start {
    void (*function)(void *context);
    void *context;
    void (*ended_early)(void *context);
    int nice;
    char name[NAME_SIZE];
};

#if defined(__linux__)
/* A set has room for 1,024 processors. Of more, a thread has those of the thread that starts it. */
static bool get_processors(pid_t thread, cpu_set_t *set) {
    return sched_getaffinity(thread, sizeof *set, set) == 0;
}

static void take_processors(pid_t process) {
    cpu_set_t own, wanted;
    if (get_processors(0, &own) && get_processors(process, &wanted) && !CPU_EQUAL(&own, &wanted)) {
        (void)sched_setaffinity(0, sizeof wanted, &wanted);
    }
}

/* The C library's own answer is a copy that may be old, in musl an error. */
static long scheduling_class(pid_t thread) {
    const long class = syscall(SYS_sched_getscheduler, thread);
    return class < 0 ? SCHED_OTHER : class & ~(long)SCHED_RESET_ON_FORK;
}

static void take_class(pid_t process) {
    const long its = scheduling_class(process);
    const long wanted = its == SCHED_BATCH || its == SCHED_IDLE ? its : SCHED_OTHER;
    if (scheduling_class(0) != wanted) {
        const struct sched_param none = {0};
        (void)pthread_setschedparam(pthread_self(), (int)wanted, &none);
    }
}

/* Linux starts a thread with the processors, the scheduling class and the nice value of the thread that starts it: of a
 * submitter. The process's are those of its first thread. What needs a privilege and is refused stays as it is. */
static void describe_thread(const struct start *start) {
    (void)pthread_setname_np(pthread_self(), start->name);
    const pid_t process = getpid();
    take_processors(process);
    take_class(process);
    const int wanted = getpriority(PRIO_PROCESS, (id_t)process) + start->nice;
    if (getpriority(PRIO_PROCESS, 0) != wanted) {
        (void)setpriority(PRIO_PROCESS, 0, wanted);
    }
}
#else
static void describe_thread(const struct start *start) {
    (void)pthread_setname_np(start->name);
}
#endif

static void *run_thread(void *memory) {
    const struct start start = *(struct start *)memory;
    free(memory);
    ilk__signals_allow_synchronous();
    describe_thread(&start);
    pthread_cleanup_push(start.ended_early, start.context);
    start.function(start.context);
    pthread_cleanup_pop(0);
    return NULL;
}

bool ilk__thread_start(ilk__thread *thread, const struct ilk__thread_options *options,
                       void (*function)(void *context), void *context) {
    struct start *start = malloc(sizeof *start);
    pthread_attr_t attributes;
    if (start == NULL || pthread_attr_init(&attributes) != 0) {
        free(start);
        return false;
    }
    *start = (struct start){
        .function = function, .context = context, .ended_early = options->ended_early, .nice = options->nice};
    snprintf(start->name, sizeof start->name, "%s", options->name);
    const size_t least = (size_t)PTHREAD_STACK_MIN;
    bool has_stack = true;
    if (options->stack_size != 0) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t wanted = options->stack_size < least ? least : options->stack_size;
        has_stack = pthread_attr_setstacksize(&attributes, (wanted + page - 1) / page * page) == 0;
    }
    sigset_t before;
    ilk__signals_hold(&before); /* a new thread inherits the mask */
    const bool started = has_stack && pthread_create(&thread->handle, &attributes, run_thread, start) == 0;
    ilk__signals_release(&before);
    (void)pthread_attr_destroy(&attributes);
    if (!started) {
        free(start);
    }
    return started;
}

/* pthread_join is a cancellation point: a thread cancelled there would leave the pool half destroyed. */
void ilk__thread_join(ilk__thread *thread) {
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    (void)pthread_join(thread->handle, NULL);
    (void)pthread_setcancelstate(before, &before);
}

bool ilk__thread_join_soon(ilk__thread *thread) {
#if defined(__linux__)
    /* The clock of this call is that of the date; where it jumps, the wait is shorter or longer. */
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    const bool joined = pthread_timedjoin_np(thread->handle, NULL, &limit) == 0;
    (void)pthread_setcancelstate(before, &before);
    return joined;
#else
    (void)thread;
    return false;
#endif
}

#if defined(__linux__)
uint32_t ilk__thread_processors(void) {
    cpu_set_t set;
    if (get_processors(getpid(), &set) && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than the set has room for */
    return online > 0 ? (uint32_t)online : 1;
}
#else
uint32_t ilk__thread_processors(void) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
#endif
