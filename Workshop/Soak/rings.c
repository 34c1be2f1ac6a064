/* SPDX-License-Identifier: Apache-2.0
 *
 * Rings: what was pushed is popped once, a producer's elements in their order, also beside a close. Every other episode
 * has no close, which would wake a thread whose wake-up was lost: each consumer takes as many as it knows will come.
 * In every other one a ring has a hook, and threads wait for its calls, too.
 */
#include "soak.h"

enum { PRODUCERS = 3, CONSUMERS = 3, MOST = 7 };

/* The check finds an element that was read while it was written. */
struct element {
    uint64_t producer, number, check;
};

static struct element element_of(uint64_t producer, uint64_t number) {
    return (struct element){producer, number, producer ^ ~number};
}

static size_t fill(struct element *elements, size_t count, uint64_t producer, uint64_t number) {
    for (size_t i = 0; i < count; i++) {
        elements[i] = element_of(producer, number + i);
    }
    return count;
}

/* What came out for a thread. */
struct sums {
    uint64_t count, sum, next[PRODUCERS];
};

static void take(struct sums *sums, const struct element *elements, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct element element = elements[i];
        expect(element.producer < PRODUCERS && element.check == (element.producer ^ ~element.number));
        expect(element.number >= sums->next[element.producer]);
        sums->next[element.producer] = element.number + 1;
        sums->count++;
        sums->sum += element.number * PRODUCERS + element.producer;
    }
}

/* What the hook of a ring calls. It is the C library's, so that a fault of ours does not hide in it. */
struct bell {
    pthread_mutex_t mutex;
    pthread_cond_t has_rung;
    uint64_t times;
};

static void ring_bell(void *argument, ilk_ring_event event) {
    struct bell *bell = argument;
    expect(event == ILK_READABLE || event == ILK_WRITABLE);
    pthread_mutex_lock(&bell->mutex);
    bell->times++;
    pthread_cond_broadcast(&bell->has_rung);
    pthread_mutex_unlock(&bell->mutex);
}

static uint64_t times_rung(struct bell *bell) {
    pthread_mutex_lock(&bell->mutex);
    uint64_t times = bell->times;
    pthread_mutex_unlock(&bell->mutex);
    return times;
}

static void hear_after(struct bell *bell, uint64_t times) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* or pthread_cond_wait ends the thread */
    pthread_mutex_lock(&bell->mutex);
    while (bell->times == times) {
        pthread_cond_wait(&bell->has_rung, &bell->mutex);
    }
    pthread_mutex_unlock(&bell->mutex);
    pthread_setcancelstate(before, NULL);
}

struct ring {
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    struct bell bell;
    bool has_hook;
    size_t elements; /* of each producer */
    bool is_exact;
    bool may_close; /* a consumer, early */
    _Atomic(int) producing;
    struct sums pushed[PRODUCERS], evicted[PRODUCERS], popped[CONSUMERS];
};

static void set_up_ring(void *state, int is_mpmc) {
    struct ring *me = state;
    *me = (struct ring){
        .producing = is_mpmc ? PRODUCERS : 1, .is_exact = chance(2) == 0, .has_hook = chance(2) == 0};
    pthread_mutex_init(&me->bell.mutex, NULL);
    pthread_cond_init(&me->bell.has_rung, NULL);
    me->may_close = !me->is_exact && chance(2) == 0;
    me->elements = me->is_exact ? 1 + chance(20) : 600;
    ilk_status status;
    size_t capacity = 1 + chance(chance(2) == 0 ? 4 : 64);
    do {
        at("create");
        status = is_mpmc ? ilk_mpmc_create(&me->mpmc, capacity, sizeof(struct element))
                         : ilk_spsc_create(&me->spsc, capacity, sizeof(struct element));
    } while (status == ILK_NOMEM);
    expect(status == ILK_OK);
    if (me->has_hook && is_mpmc) {
        ilk_mpmc_set_notify(me->mpmc, ring_bell, &me->bell);
    } else if (me->has_hook) {
        ilk_spsc_set_notify(me->spsc, ring_bell, &me->bell);
    }
}

static void check_ring(void *state, bool is_last) {
    struct ring *me = state;
    struct sums in = {0}, out = {0};
    (void)is_last;
    for (int i = 0; i < PRODUCERS; i++) {
        in.count += me->pushed[i].count;
        in.sum += me->pushed[i].sum;
        out.count += me->evicted[i].count + me->popped[i].count;
        out.sum += me->evicted[i].sum + me->popped[i].sum;
    }
    expect(in.count == out.count && in.sum == out.sum);
    expect(me->may_close || in.count == (me->spsc != NULL ? 1 : PRODUCERS) * me->elements);
    ilk_spsc_destroy(me->spsc);
    ilk_mpmc_destroy(me->mpmc);
    pthread_cond_destroy(&me->bell.has_rung);
    pthread_mutex_destroy(&me->bell.mutex);
}

/* ---- Both rings have these calls ---- */

#define RING(name)                                                                                           \
    static void name##_produce(struct ring *me, struct sums *pushed, uint64_t producer, uint64_t most) {     \
        uint64_t number = pushed->next[producer], times;                                                     \
        struct element elements[MOST], *slots;                                                               \
        size_t count = fill(elements, 1 + chance(most < MOST ? (uint32_t)most : MOST), producer, number);    \
        switch (chance(me->has_hook ? 5 : 4)) {                                                              \
        case 0:                                                                                              \
            at(#name " try_push");                                                                           \
            count = ilk_##name##_try_push(me->name, elements, sizeof *elements);                             \
            break;                                                                                           \
        case 1:                                                                                              \
            at(#name " try_push_many");                                                                      \
            count = ilk_##name##_try_push_many(me->name, elements, count, sizeof *elements);                 \
            break;                                                                                           \
        case 2:                                                                                              \
            at(#name " reserve");                                                                            \
            if ((slots = ilk_##name##_reserve(me->name, &count)) != NULL) {                                  \
                fill(slots, count, producer, number);                                                        \
                ilk_##name##_commit(me->name, count);                                                        \
            }                                                                                                \
            break;                                                                                           \
        case 3:                                                                                              \
            at(#name " push_until");                                                                         \
            count =                                                                                          \
                ilk_##name##_push_until(me->name, elements, sizeof *elements, some_deadline()) == ILK_OK;    \
            break;                                                                                           \
        default:                                                                                             \
            at(#name " arm_push");                                                                           \
            times = times_rung(&me->bell);                                                                   \
            if (ilk_##name##_arm_push(me->name)) {                                                           \
                hear_after(&me->bell, times);                                                                \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        fill(elements, count, producer, number);                                                             \
        take(pushed, elements, count);                                                                       \
    }                                                                                                        \
    /* False: drained. */                                                                                    \
    static bool name##_consume(struct ring *me, struct sums *popped, uint64_t most) {                        \
        struct element elements[MOST];                                                                       \
        const struct element *shown;                                                                         \
        size_t count = 1 + chance(most < MOST ? (uint32_t)most : MOST);                                      \
        ilk_status status = ILK_OK;                                                                          \
        uint64_t times;                                                                                      \
        switch (chance(me->has_hook ? 5 : 4)) {                                                              \
        case 0:                                                                                              \
            at(#name " try_pop");                                                                            \
            count = ilk_##name##_try_pop(me->name, elements, sizeof *elements);                              \
            break;                                                                                           \
        case 1:                                                                                              \
            at(#name " try_pop_many");                                                                       \
            count = ilk_##name##_try_pop_many(me->name, elements, count, sizeof *elements);                  \
            break;                                                                                           \
        case 2:                                                                                              \
            at(#name " peek");                                                                               \
            if ((shown = ilk_##name##_peek(me->name, &count)) != NULL) {                                     \
                take(popped, shown, count);                                                                  \
                ilk_##name##_release(me->name, count);                                                       \
            }                                                                                                \
            return true;                                                                                     \
        case 3:                                                                                              \
            at(#name " pop_until");                                                                          \
            status = ilk_##name##_pop_until(me->name, elements, sizeof *elements, some_deadline());          \
            count = status == ILK_OK;                                                                        \
            break;                                                                                           \
        default:                                                                                             \
            at(#name " arm_pop");                                                                            \
            times = times_rung(&me->bell);                                                                   \
            if (ilk_##name##_arm_pop(me->name)) {                                                            \
                hear_after(&me->bell, times);                                                                \
            }                                                                                                \
            return true;                                                                                     \
        }                                                                                                    \
        take(popped, elements, count);                                                                       \
        return status != ILK_CLOSED;                                                                         \
    }

RING(spsc)
RING(mpmc)

static void produced(struct ring *me) {
    if (atomic_fetch_sub(&me->producing, 1) == 1 && !me->is_exact) {
        me->spsc != NULL ? ilk_spsc_close(me->spsc) : ilk_mpmc_close(me->mpmc);
    }
}

static void use_spsc(void *state, int index) {
    struct ring *me = state;
    struct sums *pushed = me->pushed, *popped = me->popped;
    if (index == 0) {
        while (pushed->count < me->elements && !ilk_spsc_is_closed(me->spsc)) {
            spsc_produce(me, pushed, 0, me->elements - pushed->count);
        }
        produced(me);
        return;
    }
    while ((!me->is_exact || popped->count < me->elements) &&
           spsc_consume(me, popped, me->is_exact ? me->elements - popped->count : MOST)) {
        expect(popped->next[0] == popped->count); /* none is missing */
        if (me->may_close && chance(300) == 0) {
            ilk_spsc_close(me->spsc);
        }
    }
}

static void overwrite(struct ring *me, int index) {
    struct element element = element_of((uint64_t)index, me->pushed[index].next[index]), evicted;
    at("ilk_mpmc_push_overwriting");
    take(&me->pushed[index], &element, 1);
    if (ilk_mpmc_push_overwriting(me->mpmc, &element, sizeof element, &evicted)) {
        take(&me->evicted[index], &evicted, 1);
    }
}

static void use_mpmc(void *state, int index) {
    struct ring *me = state;
    if (index < PRODUCERS) {
        struct sums *pushed = &me->pushed[index];
        while (pushed->count < me->elements && !ilk_mpmc_is_closed(me->mpmc)) {
            if (!me->is_exact && chance(8) == 0) {
                overwrite(me, index);
            } else {
                mpmc_produce(me, pushed, (uint64_t)index, me->elements - pushed->count);
            }
        }
        produced(me);
        return;
    }
    struct sums *popped = &me->popped[index - PRODUCERS];
    while ((!me->is_exact || popped->count < me->elements) &&
           mpmc_consume(me, popped, me->is_exact ? me->elements - popped->count : MOST)) {
        if (me->may_close && chance(1000) == 0) {
            ilk_mpmc_close(me->mpmc);
        }
    }
}

const struct activity rings[] = {
    {number_of_spsc, 2, sizeof(struct ring), 0, set_up_ring, use_spsc, check_ring},
    {number_of_mpmc, PRODUCERS + CONSUMERS, sizeof(struct ring), 1, set_up_ring, use_mpmc, check_ring},
    {.threads = 0},
};
