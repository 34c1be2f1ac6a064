// SPDX-License-Identifier: Apache-2.0
//
// A bounded buffer of one mutex and two conditions, each a predicate: no signal to forget, no loop around a wait. The
// thread that gives the mutex up judges the predicates, and wakes the thread whose turn has come.
//
//     buffer [ELEMENTS]     three producers, two consumers; prints how many elements came through, and their sum
#include <interlock/interlock.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACES = 8, PRODUCERS = 3, CONSUMERS = 2 };

static ilk_mutex mutex = ILK_MUTEX_INIT;
// Guarded by the mutex.
static uint64_t places[PLACES];
static uint64_t put_count, taken_count, taken_sum;
static uint64_t element_count;

static bool has_room(void *unused) {
    (void)unused;
    return put_count - taken_count < PLACES || put_count == element_count;
}

static bool has_element(void *unused) {
    (void)unused;
    return put_count > taken_count || put_count == element_count;
}

static void *produce(void *unused) {
    for (bool more = true; more;) {
        ilk_mutex_lock(&mutex);
        if (ilk_mutex_await_until(&mutex, has_room, NULL, ILK_FOREVER) != ILK_OK) {
            abort(); // without a limit it does not happen
        }
        more = put_count < element_count;
        if (more) {
            places[put_count % PLACES] = put_count + 1;
            put_count++;
        }
        ilk_mutex_unlock(&mutex);
    }
    return unused;
}

static void *consume(void *unused) {
    for (bool more = true; more;) {
        ilk_mutex_lock(&mutex);
        if (ilk_mutex_await_until(&mutex, has_element, NULL, ILK_FOREVER) != ILK_OK) {
            abort();
        }
        more = put_count > taken_count;
        if (more) {
            taken_sum += places[taken_count % PLACES];
            taken_count++;
        }
        ilk_mutex_unlock(&mutex);
    }
    return unused;
}

int main(int count, char **arguments) {
    element_count = count > 1 ? strtoull(arguments[1], NULL, 10) : 10000;
    pthread_t threads[PRODUCERS + CONSUMERS];
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
        if (pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume, NULL) != 0) {
            fputs("buffer: the system makes no thread\n", stderr);
            return EXIT_FAILURE;
        }
    }
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
        if (pthread_join(threads[i], NULL) != 0) {
            return EXIT_FAILURE;
        }
    }
    printf("%" PRIu64 " elements, sum %" PRIu64 "\n", taken_count, taken_sum);
    return taken_sum == element_count * (element_count + 1) / 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
