/* SPDX-License-Identifier: Apache-2.0
 *
 * The child of a round: its crews, and what it has left when they rest. A crew meets in a barrier of the C library, so
 * that a fault of ours does not hide in what looks for it.
 */
#include "soak.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CREWS = 32 };

struct crew {
    const struct activity *activity;
    void *state;
    pthread_barrier_t meeting;
    bool is_last; /* the first thread decides; the meeting orders it */
};

struct member {
    struct crew *crew;
    struct row *row;
    int index;
};

static _Thread_local uint64_t chance_state;
_Thread_local struct row *own_row;

void chance_begin(uint64_t seed) {
    chance_state = seed;
}

/* SplitMix64. */
uint32_t chance(uint32_t bound) {
    /* Of those that have not begun: the library's, and those that disturb. */
    static _Atomic(uint64_t) threads;
    if (chance_state == 0) {
        chance_state = shared->seed << 20 ^ ++threads << 32;
    }
    uint64_t word = chance_state += UINT64_C(0x9E3779B97F4A7C15);
    word = (word ^ word >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ word >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((word ^ word >> 31) >> 32) % bound;
}

uint64_t some_deadline(void) {
    switch (chance(6)) {
    case 0:
        return 0;
    case 1:
        return ilk_deadline_in_ns(1 + chance(50000));
    case 2:
        return ilk_deadline_in_ns(1 + chance(2000000));
    default:
        return ILK_FOREVER;
    }
}

void at(const char *doing) {
    atomic_store_explicit(&own_row->doing, doing, memory_order_relaxed);
    atomic_fetch_add_explicit(&own_row->operations, 1, memory_order_relaxed);
}

void failed(const char *place, const char *claim) {
    fprintf(stderr, "soak: %s: untrue: %s\n", place, claim);
    _exit(1);
}

static void meet(struct crew *crew) {
    atomic_store_explicit(&own_row->doing, NULL, memory_order_relaxed);
    pthread_barrier_wait(&crew->meeting);
    atomic_store_explicit(&own_row->doing, "episode", memory_order_relaxed);
}

static void *run_member(void *argument) {
    struct member *me = argument;
    struct crew *crew = me->crew;
    const struct activity *activity = crew->activity;
    int number = (int)(me->row - shared->rows);
    own_row = me->row;
    own_row->thread = gettid();
    chance_begin(shared->seed << 20 ^ (uint64_t)number << 8);
    faults_schedule(number);
    do {
        meet(crew);
        if (me->index == 0) {
            crew->is_last = shared->is_ending;
            activity->set_up(crew->state, activity->variant);
        }
        meet(crew);
        faults_run(activity->work, crew->state, me->index);
        meet(crew);
        if (me->index == 0) {
            at("check");
            activity->check(crew->state, crew->is_last);
        }
    } while (!crew->is_last);
    atomic_store(&own_row->doing, NULL);
    return NULL;
}

/* ---- What is left ---- */

struct leftovers {
    size_t resident, allocated;
    int descriptors;
};

static struct leftovers leftovers(void) {
    struct leftovers found = {0, mallinfo2().uordblks, 0};
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*s %zu", &found.resident) != 1) {
        failed("/proc/self/statm", "is readable");
    }
    fclose(file);
    found.resident *= (size_t)sysconf(_SC_PAGESIZE);
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) {
        found.descriptors++;
    }
    closedir(folder);
    return found;
}

/* The second half repeats the first, and needs no more. Stacks and pages that the C library keeps vary, and so do the
 * addresses of objects on stacks, which diagnosis keeps until others begin there. */
static void compare(struct leftovers first, struct leftovers second) {
    size_t more = (is_chosen(fault_of_diagnosis) ? 256u : 64u) << 10;
    bool is_level = second.descriptors == first.descriptors && second.allocated <= first.allocated + more &&
                    (IS_SANITIZED || second.resident <= first.resident + (24u << 20));
    if (!is_level) {
        fprintf(stderr, "soak: %zu bytes are allocated, %zu before; resident %zu, %zu; descriptors %d, %d\n",
                second.allocated, first.allocated, second.resident, first.resident, second.descriptors,
                first.descriptors);
    }
    expect(is_level);
}

/* ---- Halves ---- */

static struct crew crews[MOST_CREWS];
static struct member members[MOST_ROWS];
static pthread_t threads[MOST_ROWS];

/* Zeroed. The second half has its objects where the first had them: diagnosis keeps what it knows of an address. */
static void *state_of(struct crew *crew) {
    static void *states[MOST_CREWS];
    void **state = &states[crew - crews];
    if (*state == NULL) {
        *state = __real_calloc(1, crew->activity->size);
    }
    return memset(*state, 0, crew->activity->size);
}

static int add_crews(const struct activity *activity, struct crew **next, int rows) {
    for (; activity->threads > 0; activity++) {
        struct crew *crew = (*next)++;
        crew->activity = activity;
        crew->state = state_of(crew);
        pthread_barrier_init(&crew->meeting, NULL, (unsigned)activity->threads);
        for (int index = 0; index < activity->threads; index++, rows++) {
            struct row *row = &shared->rows[rows];
            row->primitive = (int)activity->primitive;
            row->index = index;
            members[rows] = (struct member){crew, row, index};
        }
    }
    return rows;
}

static void run_half(double seconds) {
    struct crew *end = crews;
    int rows = 1; /* the first is the main thread's */
    shared->is_ending = false;
    for (int copy = 0; copy < (is_chosen(fault_of_twice_the_threads) ? 2 : 1); copy++) {
        const struct activity *all[] = {locks, meetings, rings, wait_sets, pools};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            rows = add_crews(all[i], &end, rows);
        }
    }
    for (int row = 1; row < rows; row++) {
        if (__real_pthread_create(&threads[row], NULL, run_member, &members[row]) != 0) {
            failed("child.c", "the threads of the crews begin");
        }
    }
    faults_disturb();
    uint64_t deadline = ilk_deadline_in_ns((uint64_t)(seconds * 1e9)),
             late = ilk_deadline_in_ns((uint64_t)(seconds * 3e8));
    while (ilk_now_ns() < deadline) {
        at("sleeps");
        usleep(20000);
        if (ilk_now_ns() > late) {
            faults_refuse_late();
        }
    }
    shared->is_ending = true;
    at("ends the disturbance");
    faults_end_disturbance();            /* a signal would wake a thread whose wake-up was lost */
    atomic_store(&own_row->doing, NULL); /* until the others have ended */
    for (int row = 1; row < rows; row++) {
        pthread_join(threads[row], NULL);
    }
    at("end of a half");
    faults_check();
    for (struct crew *crew = crews; crew < end; crew++) {
        pthread_barrier_destroy(&crew->meeting);
    }
}

void child_run(double seconds) {
    own_row = shared->rows;
    own_row->thread = gettid();
    own_row->primitive = primitives;
    chance_begin(shared->seed);
    run_half(seconds / 2);
    struct leftovers first = leftovers();
    run_half(seconds / 2);
    compare(first, leftovers());
    exit(0); /* with the checks of a sanitizer */
}
