/* SPDX-License-Identifier: Apache-2.0
 *
 * The faults that happen within the child. main.c has those from outside: stops, a quota.
 */
#include "soak.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each with one chance in three. */
uint32_t faults_of(uint64_t seed) {
    uint32_t chosen = 0;
    chance_begin(seed);
    for (int fault = 0; fault < faults; fault++) {
        chosen |= (uint32_t)(chance(3) == 0) << fault;
    }
    if (IS_THREAD_SANITIZED) {
        chosen &= ~(1u << fault_of_forks); /* a child may find its allocator locked */
    }
    if ((chosen >> fault_of_quota_periods & 1) != 0) {
        chosen &= ~(1u << fault_of_fifo_threads); /* a group with a quota may have no real-time threads */
    }
    return chosen;
}

/* ---- What is refused ---- */

static void refuse_membarrier(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof program / sizeof *program, program};
    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    /* For every thread of the process. */
    expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
    expect(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) == -1);
}

void faults_refuse_late(void) {
    if (is_chosen(fault_of_membarrier_refused_late) &&
        shared->happened[fault_of_membarrier_refused_late] == 0) {
        refuse_membarrier();
        happens(fault_of_membarrier_refused_late);
    }
}

static bool is_refused(enum fault fault) {
    if (!is_chosen(fault) || chance(2 + (uint32_t)(shared->seed % 9)) != 0) {
        return false;
    }
    happens(fault);
    return true;
}

void *__real_malloc(size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

void *__wrap_malloc(size_t size) {
    return is_refused(fault_of_memory_refused) ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    return is_refused(fault_of_memory_refused) ? NULL : __real_calloc(count, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return is_refused(fault_of_memory_refused) ? NULL : __real_aligned_alloc(alignment, size);
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                          void *argument) {
    return is_refused(fault_of_threads_refused) ? EAGAIN
                                                : __real_pthread_create(thread, attributes, body, argument);
}

/* ---- Signals ---- */

/* A handler may try, and signal, whatever it has interrupted. */
static ilk_rwlock handlers_lock;
static uint64_t handlers_first, handlers_second;
static ilk_semaphore handled;
static _Atomic(int64_t) handlers;

static void handle(int signal) {
    (void)signal;
    if (ilk_rwlock_try_write_lock(&handlers_lock)) {
        expect(handlers_first++ == handlers_second++);
        ilk_rwlock_write_unlock(&handlers_lock);
    }
    if (ilk_rwlock_try_read_lock(&handlers_lock)) {
        expect(handlers_first == handlers_second);
        ilk_rwlock_read_unlock(&handlers_lock);
    }
    ilk_semaphore_signal(&handled, 1);
    atomic_fetch_add(&handlers, 1);
    happens(fault_of_signals);
}

_Atomic(bool) is_disturbing;

static void *send_signals(void *unused) {
    while (is_disturbing) {
        DIR *folder = opendir("/proc/self/task");
        for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
            syscall(SYS_tgkill, getpid(), atoi(entry->d_name), SIGUSR1);
        }
        closedir(folder);
        usleep(200 + chance(3000));
    }
    return unused;
}

/* ---- fork ---- */

static void count(void *number) {
    atomic_fetch_add((_Atomic(int) *)number, 1);
}

/* A child beside running threads uses objects of its own. */
static _Noreturn void run_grandchild(void) {
    static ilk_rwlock lock = ILK_RWLOCK_INIT;
    static ilk_mutex mutex = ILK_MUTEX_INIT;
    alarm(100);
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
    ilk_rwlock_downgrade(&lock);
    ilk_mutex_lock(&mutex);
    ilk_spsc *ring = NULL;
    while (ilk_spsc_create(&ring, 2, sizeof(int)) != ILK_OK) {
    }
    int element = 42, popped = 0;
    expect(ilk_spsc_push_until(ring, &element, sizeof element, ILK_FOREVER) == ILK_OK);
    expect(ilk_spsc_try_pop(ring, &popped, sizeof popped) && popped == 42);
    ilk_spsc_destroy(ring);
    ilk_mutex_unlock(&mutex);
    ilk_rwlock_read_unlock(&lock);
    ilk_pool *pool = NULL;
    const ilk_pool_options options = {.threads = 2};
    while (ilk_pool_create(&pool, &options) != ILK_OK) {
    }
    ilk_job jobs[8];
    _Atomic(int) ran = 0;
    for (int i = 0; i < 8; i++) {
        ilk_job_init(&jobs[i], count, &ran);
        expect(ilk_pool_submit(pool, &jobs[i]));
    }
    expect(ilk_pool_wait_idle_until(pool, ILK_FOREVER) == ILK_OK);
    ilk_pool_destroy(pool);
    expect(ran == 8);
    _exit(0);
}

static void *fork_again(void *unused) {
    while (is_disturbing) {
        pid_t child = fork();
        expect(child >= 0);
        if (child == 0) {
            run_grandchild();
        }
        int status = -1;
        while (waitpid(child, &status, 0) != child) {
            expect(errno == EINTR);
        }
        if (status != 0) {
            fprintf(stderr, "soak: a child of fork ended with wait status %#x\n", (unsigned)status);
        }
        expect(status == 0);
        happens(fault_of_forks);
        usleep(20000 + chance(200000));
    }
    return unused;
}

/* ---- Beginning and end ---- */

void faults_before_start(void) {
    if (is_chosen(fault_of_membarrier_refused_first)) {
        refuse_membarrier();
        happens(fault_of_membarrier_refused_first);
    }
    cpu_set_t core;
    if (is_chosen(fault_of_one_core) && sched_getaffinity(0, sizeof core, &core) == 0) {
        int first = 0;
        while (!CPU_ISSET(first, &core)) {
            first++;
        }
        CPU_ZERO(&core);
        CPU_SET(first, &core);
        expect(sched_setaffinity(0, sizeof core, &core) == 0);
        happens(fault_of_one_core);
    }
    if (is_chosen(fault_of_twice_the_threads)) {
        happens(fault_of_twice_the_threads);
    }
}

static const struct disturber {
    enum fault fault;
    void *(*run)(void *);
} disturbers[] = {
    {fault_of_signals, send_signals},           {fault_of_forks, fork_again},
    {fault_of_diagnosis, diagnosis_run},        {fault_of_diagnosis, diagnosis_keep_order},
    {fault_of_diagnosis, diagnosis_keep_order},
};
enum { DISTURBERS = sizeof disturbers / sizeof *disturbers };
static pthread_t disturbing[DISTURBERS];

void faults_disturb(void) {
    handlers = 0;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle}, NULL); /* without SA_RESTART */
    ilk_rwlock_init(&handlers_lock);
    ilk_semaphore_init(&handled, 0);
    is_disturbing = true;
    for (int i = 0; i < DISTURBERS; i++) {
        if (is_chosen(disturbers[i].fault)) {
            expect(__real_pthread_create(&disturbing[i], NULL, disturbers[i].run, NULL) == 0);
        }
    }
}

void faults_end_disturbance(void) {
    is_disturbing = false;
    for (int i = 0; i < DISTURBERS; i++) {
        if (is_chosen(disturbers[i].fault)) {
            pthread_join(disturbing[i], NULL);
        }
    }
}

void faults_check(void) {
    expect(ilk_semaphore_value(&handled) == handlers);
    ilk_semaphore_destroy(&handled);
    ilk_rwlock_destroy(&handlers_lock);
}

/* ---- Threads ---- */

void faults_schedule(int number) {
    const struct sched_param urgent = {1 + number % 3}, none = {0};
    if (is_chosen(fault_of_fifo_threads) && number % 7 == 0 &&
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &urgent) == 0) {
        happens(fault_of_fifo_threads);
    } else if (is_chosen(fault_of_idle_threads) && number % 5 == 0 &&
               pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0) {
        happens(fault_of_idle_threads);
    }
}

struct short_life {
    void (*body)(void *state, int index);
    void *state;
    struct row *row;
    uint64_t seed;
    int index;
    _Atomic(bool) is_done;
};

extern _Thread_local struct row *own_row;

static void *live_shortly(void *argument) {
    struct short_life *life = argument;
    own_row = life->row;
    own_row->thread = gettid();
    chance_begin(life->seed);
    life->body(life->state, life->index);
    life->is_done = true;
    pthread_testcancel(); /* the first point of cancellation: none was within */
    return NULL;
}

void faults_run(void (*body)(void *state, int index), void *state, int index) {
    bool cancels = is_chosen(fault_of_threads_cancelled) && chance(2) == 0;
    struct short_life life = {body, state, own_row, chance(UINT32_MAX), index, false};
    pthread_t thread;
    if ((!cancels && !is_chosen(fault_of_threads_ended)) || chance(4) != 0 ||
        pthread_create(&thread, NULL, live_shortly, &life) != 0) {
        body(state, index);
        return;
    }
    void *result = NULL;
    if (cancels) {
        usleep(chance(500));
        pthread_cancel(thread);
    }
    pthread_join(thread, &result);
    expect(life.is_done);
    own_row->thread = gettid();
    happens(result == PTHREAD_CANCELED ? fault_of_threads_cancelled : fault_of_threads_ended);
}
