/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that a test can lead: stages to wait for, and the kernel's word on who sleeps.
 */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
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

bool thread_sleeps(const struct thread *thread) {
    /* The number of the system call the thread is in, or "running". */
    char path[64], text[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)thread->kernel_id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false; /* it has ended */
    }
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    char *end;
    long number = strtol(text, &end, 10);
    return length > 0 && end != text && number == SYS_futex;
}

void thread_await_sleep(struct thread *thread) {
    while (!thread_sleeps(thread)) {
        check(!thread_is_done(thread)); /* it was to wait, and it has returned */
        const struct timespec pause = {.tv_nsec = 100000};
        nanosleep(&pause, NULL); /* only to leave the processor: the loop decides */
    }
}

static void do_nothing(int signal) {
    (void)signal;
}

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
