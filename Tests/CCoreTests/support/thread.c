/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that a test can lead.
 */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <interlock/inline/atomic.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void stage_reach(struct stage *stage, int value) {
    pthread_mutex_lock(&stage->mutex);
    check(stage->value <= value);
    stage->value = value;
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->mutex);
}

void stage_advance(struct stage *stage) {
    pthread_mutex_lock(&stage->mutex);
    stage->value++;
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->mutex);
}

void stage_await(struct stage *stage, int value) {
    pthread_mutex_lock(&stage->mutex);
    while (stage->value < value) {
        pthread_cond_wait(&stage->changed, &stage->mutex);
    }
    pthread_mutex_unlock(&stage->mutex);
}

int stage_now(struct stage *stage) {
    pthread_mutex_lock(&stage->mutex);
    int value = stage->value;
    pthread_mutex_unlock(&stage->mutex);
    return value;
}

static void *run_thread(void *argument) {
    struct thread *thread = argument;
    thread->kernel_id = (pid_t)syscall(SYS_gettid);
    stage_reach(&thread->life, 1);
    thread->body(thread->context);
    stage_reach(&thread->life, 2);
    return NULL;
}

void thread_start(struct thread *thread, thread_body *body, void *context) {
    *thread = (struct thread){.body = body, .context = context, .life = STAGE_INIT};
    check_equal(pthread_create(&thread->id, NULL, run_thread, thread), 0);
    stage_await(&thread->life, 1);
}

void thread_join(struct thread *thread) {
    check_equal(pthread_join(thread->id, NULL), 0);
}

bool thread_is_done(struct thread *thread) {
    return stage_now(&thread->life) == 2;
}

/* The system call that a thread is in; -1 while it runs or when it has ended. `third` gets the third
 * argument. */
static long call_of(pid_t kernel_id, unsigned long *third) {
    char path[64], text[128] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)kernel_id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    long number;
    return length > 0 && sscanf(text, "%ld %*x %*x %lx", &number, third) == 2 ? number : -1;
}

/* The kernel's number of futex(2), which differs from SYS_futex under an emulator of another processor: found
 * from a thread that sleeps on a value of its own. */
enum { SIGN_OF_THE_SLEEPER = 0x2C6B1D37 };
static pthread_once_t number_once = PTHREAD_ONCE_INIT;
static long futex_number;

struct known_sleeper {
    ILK_ATOMIC(uint32_t) word;
    ILK_ATOMIC(int) kernel_id;
};

static void *sleep_on_sign(void *context) {
    struct known_sleeper *self = context;
    ilk_atomic_store(&self->kernel_id, (int)syscall(SYS_gettid), memory_order_release);
    while (ilk_atomic_load(&self->word, memory_order_relaxed) == SIGN_OF_THE_SLEEPER) {
        syscall(SYS_futex, &self->word, FUTEX_WAIT_PRIVATE, SIGN_OF_THE_SLEEPER, NULL, NULL, 0);
    }
    return NULL;
}

static void find_number(void) {
    struct known_sleeper sleeper = {.word = SIGN_OF_THE_SLEEPER};
    pthread_t id;
    check_equal(pthread_create(&id, NULL, sleep_on_sign, &sleeper), 0);
    unsigned long third = 0;
    do {
        sched_yield();
        futex_number = call_of(ilk_atomic_load(&sleeper.kernel_id, memory_order_acquire), &third);
    } while (futex_number < 0 || (uint32_t)third != SIGN_OF_THE_SLEEPER);
    ilk_atomic_store(&sleeper.word, 0, memory_order_relaxed);
    syscall(SYS_futex, &sleeper.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    check_equal(pthread_join(id, NULL), 0);
}

bool thread_sleeps(const struct thread *thread) {
    check_equal(pthread_once(&number_once, find_number), 0);
    unsigned long third;
    return call_of(thread->kernel_id, &third) == futex_number;
}

void thread_await_sleep(struct thread *thread) {
    while (!thread_sleeps(thread)) {
        check(!thread_is_done(thread)); /* it was to wait, and it has returned */
        const struct timespec pause = {.tv_nsec = 100000};
        nanosleep(&pause, NULL); /* only to leave the processor */
    }
}

long thread_times_slept(const struct thread *thread) {
    char path[64], line[128];
    long switches = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread->kernel_id);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &switches);
    }
    fclose(file);
    return switches;
}

static void do_nothing(int signal) {}

void thread_allow_interrupts(void) {
    const struct sigaction action = {.sa_handler = do_nothing, .sa_flags = 0}; /* no SA_RESTART */
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

void thread_interrupt(const struct thread *thread) {
    check_equal(pthread_kill(thread->id, SIGUSR1), 0);
}

struct together {
    thread_body *body;
    void *context;
    pthread_barrier_t *begin;
};

static void run_together(void *argument) {
    struct together *together = argument;
    pthread_barrier_wait(together->begin);
    together->body(together->context);
}

void threads_run(int count, thread_body *body, void *contexts, size_t size) {
    struct thread *threads = calloc((size_t)count, sizeof *threads);
    struct together *together = calloc((size_t)count, sizeof *together);
    check(threads != NULL && together != NULL);
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        together[i] = (struct together){body, (char *)contexts + (size_t)i * size, &begin};
        thread_start(&threads[i], run_together, &together[i]);
    }
    for (int i = 0; i < count; i++) {
        thread_join(&threads[i]);
    }
    pthread_barrier_destroy(&begin);
    free(together);
    free(threads);
}

void thread_share_one_core(void) {
    cpu_set_t allowed, one;
    check_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int core = 0;
    while (!CPU_ISSET(core, &allowed)) {
        core++;
    }
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    check_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

bool thread_try_real_time(pthread_t *id, int priority, void *(*body)(void *), void *context) {
    pthread_attr_t attributes;
    const struct sched_param parameter = {.sched_priority = priority};
    check_equal(pthread_attr_init(&attributes), 0);
    check_equal(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED), 0);
    check_equal(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO), 0);
    check_equal(pthread_attr_setschedparam(&attributes, &parameter), 0);
    const int error = pthread_create(id, &attributes, body, context);
    check_equal(pthread_attr_destroy(&attributes), 0);
    return error == 0;
}
