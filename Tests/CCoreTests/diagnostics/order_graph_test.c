/* SPDX-License-Identifier: Apache-2.0
 *
 * Inversions in large graphs of orders, and the index that finds orders, objects and names.
 */
#include "diagnostics/index.h"
#include "diagnostics/order.h"
#include "diagnostics/order_search.h"
#include "diagnostics/reports.h"
#include "diagnostics/tables.h"
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void lock_both(ilk_mutex *first, ilk_mutex *second) {
    ilk_mutex_lock(first);
    ilk_mutex_lock(second);
    ilk_mutex_unlock(second);
    ilk_mutex_unlock(first);
}

static void lock_three(ilk_mutex *first, ilk_mutex *second, ilk_mutex *third) {
    ilk_mutex_lock(first);
    lock_both(second, third);
    ilk_mutex_unlock(first);
}

static void make_mutexes(ilk_mutex *mutexes, unsigned count) {
    for (unsigned index = 0; index < count; index++) {
        ilk_mutex_init(&mutexes[index], false);
    }
}

/* Each under each before it. */
static void order_all(ilk_mutex *mutexes, unsigned count) {
    for (unsigned outer = 0; outer < count; outer++) {
        for (unsigned inner = outer + 1; inner < count; inner++) {
            lock_both(&mutexes[outer], &mutexes[inner]);
        }
    }
}

/* ---- Searches ---- */

enum { MANY = 60 };

/* There are 2 to the power of 58 ways from the first of them to the last, and none leads back. */
static void an_inversion_is_found_among_many_ordered_locks(void **state) {
    (void)state;
    static ilk_mutex accounts, orders, others[MANY];
    begin_reports();
    ilk_mutex_init(&accounts, false);
    ilk_mutex_init(&orders, false);
    make_mutexes(others, MANY);
    lock_both(&accounts, &orders);
    for (unsigned index = 0; index < MANY; index++) {
        lock_both(&accounts, &others[index]);
    }
    order_all(others, MANY);
    check_equal(reports.count, 0);
    lock_both(&orders, &accounts);
    check_equal(reports.count, 1);
    lock_both(&others[MANY - 1], &others[0]);
    check_equal(reports.count, 2);
    check_contains(reports.sentence, "the opposite order was seen before"); /* the shortest of the circles */
    check_equal(ilk__order_searches_ended(), 0);
}

/* b to a comes last. The ways from a to b:  a x b, whose two orders a guard keeps apart;  a y z b. */
static void a_longer_circle_is_found_where_a_guard_keeps_the_shortest_apart(void **state) {
    (void)state;
    static ilk_mutex places[6];
    ilk_mutex *a = &places[0], *b = &places[1], *x = &places[2], *y = &places[3], *z = &places[4];
    ilk_mutex *guard = &places[5];
    begin_reports();
    make_mutexes(places, 6);
    lock_three(guard, a, x);
    lock_three(guard, x, b);
    lock_both(a, y);
    lock_both(y, z);
    lock_both(z, b);
    check_equal(reports.count, 0);
    lock_both(b, a);
    check_equal(reports.count, 1);
    check_contains(reports.sentence, "; 3 orders seen before lead back from the one to the other");
}

/* Threads may hold what is held for reading at the same time. */
static void a_lock_held_for_reading_keeps_nothing_apart(void **state) {
    (void)state;
    static ilk_mutex a, b;
    static ilk_rwlock guard;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_rwlock_init(&guard);
    ilk_rwlock_read_lock(&guard);
    lock_both(&a, &b);
    lock_both(&b, &a);
    ilk_rwlock_read_unlock(&guard);
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&guard);
}

static void search_too_far(void) {
    static ilk_mutex mutexes[8];
    make_mutexes(mutexes, 8);
    const uint32_t most = ilk__order_search_most;
    ilk__order_search_most = 3;
    for (unsigned index = 0; index + 1 < 8; index++) {
        lock_both(&mutexes[index], &mutexes[index + 1]);
    }
    lock_both(&mutexes[7], &mutexes[0]);
    lock_both(&mutexes[6], &mutexes[0]);
    ilk__order_search_most = most;
}

static void a_search_that_ends_at_its_limit_is_said_once(void **state) {
    (void)state;
    begin_reports();
    FILE *file = tmpfile();
    const int error = dup(STDERR_FILENO);
    check(file != NULL && error >= 0);
    check_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    search_too_far();
    (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_JSON);
    check_equal(dup2(error, STDERR_FILENO), STDERR_FILENO);
    static char output[64 * 1024];
    rewind(file);
    output[fread(output, 1, sizeof output - 1, file)] = '\0';
    fclose(file);
    static const char said[] = "interlock: a search for lock-order inversions ended at its limit";
    check_equal(strncmp(output, said, sizeof said - 1), 0);
    check(strstr(output + 1, said) == NULL);
    check_equal(reports.count, 0);
    check_contains(output, "\"searches_ended\": 2\n");
}

/* ---- The index ---- */

struct link {
    struct ilk__index_link link;
    uint64_t key;
};

enum { LINKS = 50000 };

static struct ilk__index index_of_links;
static struct link links[LINKS];
static ILK_ATOMIC(uint64_t) met;

static bool is_link(const struct ilk__index_link *link, const void *key) ILK_NONBLOCKING {
    ilk_atomic_fetch_add(&met, 1, memory_order_relaxed);
    return ((const struct link *)link)->key == *(const uint64_t *)key;
}

static struct link *find_link(uint64_t key) {
    return (struct link *)ilk__index_find(&index_of_links, ilk__index_hash(key), is_link, &key);
}

static void add_link(struct link *link, uint64_t key) {
    sigset_t before;
    link->key = key;
    ilk__tables_lock(&before);
    const bool is_full = ilk__index_link(&index_of_links, ilk__index_hash(key), &link->link);
    ilk__tables_unlock(&before);
    if (is_full) {
        ilk__index_grow(&index_of_links);
    }
}

/* Keys as addresses are: multiples of some power of two. */
static uint64_t key_of(unsigned index, uint64_t apart) {
    return UINT64_C(0x7F0000000000) + index * apart;
}

static void empty_index(void) {
    for (unsigned table = 0; table + 1 < ILK__INDEX_TABLES; table++) {
        free(index_of_links.later[table]);
    }
    memset(&index_of_links, 0, sizeof index_of_links);
}

static void fill_index(uint64_t apart) {
    empty_index();
    for (unsigned index = 0; index < LINKS; index++) {
        add_link(&links[index], key_of(index, apart));
    }
}

/* 11 in 12 links are in the two newest tables, whose lists have two links at most, on average. */
static void a_search_of_a_large_index_meets_few_links(void **state) {
    (void)state;
    static const uint64_t distances[] = {8, 16, 40, 64, 4096};
    for (unsigned place = 0; place < sizeof distances / sizeof *distances; place++) {
        fill_index(distances[place]);
        ilk_atomic_store(&met, 0, memory_order_relaxed);
        for (unsigned index = 0; index < LINKS; index++) {
            check(find_link(key_of(index, distances[place])) == &links[index]);
        }
        check(find_link(1) == NULL);
        check(ilk_atomic_load(&met, memory_order_relaxed) < 8 * LINKS);
    }
}

static void what_is_removed_is_found_no_more(void **state) {
    (void)state;
    fill_index(16);
    for (unsigned index = 0; index < LINKS; index += 2) {
        sigset_t before;
        ilk__tables_lock(&before);
        ilk__index_remove(&index_of_links, ilk__index_hash(links[index].key), &links[index].link);
        ilk__tables_unlock(&before);
    }
    for (unsigned index = 0; index < LINKS; index++) {
        check((find_link(key_of(index, 16)) != NULL) == (index % 2 != 0));
    }
}

/* Nothing but the index is between the threads. */
static void search_while_it_grows(void *unused) {
    (void)unused;
    uint32_t random = 1;
    while (find_link(key_of(LINKS - 1, 16)) == NULL) {
        const unsigned index = next_random(&random) % LINKS;
        const struct link *found = find_link(key_of(index, 16));
        check(found == NULL || found == &links[index]);
    }
}

static void links_are_found_while_the_index_grows(void **state) {
    (void)state;
    struct thread searcher;
    empty_index();
    thread_start(&searcher, search_while_it_grows, NULL);
    for (unsigned index = 0; index < LINKS; index++) {
        add_link(&links[index], key_of(index, 16));
        check(find_link(key_of(index / 2, 16)) == &links[index / 2]);
    }
    thread_join(&searcher);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_inversion_is_found_among_many_ordered_locks),
    cmocka_unit_test(a_longer_circle_is_found_where_a_guard_keeps_the_shortest_apart),
    cmocka_unit_test(a_lock_held_for_reading_keeps_nothing_apart),
    cmocka_unit_test(a_search_that_ends_at_its_limit_is_said_once),
    cmocka_unit_test(a_search_of_a_large_index_meets_few_links),
    cmocka_unit_test(what_is_removed_is_found_no_more),
    cmocka_unit_test(links_are_found_while_the_index_grows),
};

TEST_MAIN(tests)
