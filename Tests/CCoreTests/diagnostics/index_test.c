/* SPDX-License-Identifier: Apache-2.0
 *
 * The index that finds orders, objects and names. The linker puts the test where the index allocates.
 */
#include "diagnostics/index.h"
#include "diagnostics/tables.h"
#include "support/test.h"
#include <interlock/diagnostics.h>
#include <stdlib.h>
#include <string.h>

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

static void remove_link(struct link *link) {
    sigset_t before;
    ilk__tables_lock(&before);
    ilk__index_remove(&index_of_links, ilk__index_hash(link->key), &link->link);
    ilk__tables_unlock(&before);
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
/* contract: ilk_set_name */
TEST(a_search_of_a_large_index_meets_few_links) {
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
/* contract: ilk_set_name */
TEST(what_is_removed_is_found_no_more) {
    fill_index(16);
    for (unsigned index = 0; index < LINKS; index += 2) {
        remove_link(&links[index]);
    }
    for (unsigned index = 0; index < LINKS; index++) {
        check((find_link(key_of(index, 16)) != NULL) == (index % 2 != 0));
    }
}

/* Nothing but the index is between the threads. */
static void search_while_it_grows(void *unused) {
    uint32_t random = 1;
    while (find_link(key_of(LINKS - 1, 16)) == NULL) {
        const unsigned index = next_random(&random) % LINKS;
        const struct link *found = find_link(key_of(index, 16));
        check(found == NULL || found == &links[index]);
    }
}
/* contract: ilk_set_name */
TEST(links_are_found_while_the_index_grows) {
    struct thread searcher;
    empty_index();
    thread_start(&searcher, search_while_it_grows, NULL);
    for (unsigned index = 0; index < LINKS; index++) {
        add_link(&links[index], key_of(index, 16));
        check(find_link(key_of(index / 2, 16)) == &links[index / 2]);
    }
    thread_join(&searcher);
}

TEST(what_comes_and_goes_does_not_let_the_index_grow) {
    empty_index();
    for (unsigned index = 0; index < LINKS; index++) {
        add_link(&links[0], key_of(index, 16));
        remove_link(&links[0]);
    }
    check_equal(ilk__index_tables(&index_of_links), 1);
}

/* A name, for one, is not forgotten where its list is said to be empty. */
TEST(no_list_with_a_link_is_said_to_be_empty) {
    fill_index(16);
    for (unsigned index = 0; index < LINKS; index++) {
        check(!ilk__index_is_empty_at(&index_of_links, ilk__index_hash(links[index].key)));
    }
}

/* As if there had been so many links. */
TEST(an_index_with_all_its_tables_grows_no_more) {
    empty_index();
    index_of_links.linked = SIZE_MAX;
    ilk_atomic_store(&index_of_links.later_count, ILK__INDEX_TABLES - 1, memory_order_relaxed);
    ilk__index_grow(&index_of_links);
    check_equal(ilk_atomic_load(&index_of_links.later_count, memory_order_relaxed), ILK__INDEX_TABLES - 1);
    empty_index();
}

/* ---- While a thread allocates ---- */

static void (*meanwhile)(void); /* once */

static void have_it(void) {
    void (*const run)(void) = meanwhile;
    meanwhile = NULL;
    if (run != NULL) {
        run();
    }
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
    have_it();
    return __real_calloc(count, size);
}
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
    have_it();
    return __real_malloc(size);
}

static struct link *later_link = &links[LINKS - 1];

static void grow_and_link(void) {
    ilk__index_grow(&index_of_links);
    check_equal(ilk__index_tables(&index_of_links), 2);
    add_link(later_link, key_of(LINKS - 1, 16));
}

/* Another thread makes the table, and links in it. */
TEST(two_threads_make_one_table) {
    empty_index();
    for (unsigned index = 0; index <= ILK__INDEX_FIRST; index++) {
        if (index == ILK__INDEX_FIRST) {
            meanwhile = grow_and_link;
        }
        add_link(&links[index], key_of(index, 16));
    }
    check(meanwhile == NULL);
    check_equal(ilk__index_tables(&index_of_links), 2);
    check(find_link(key_of(LINKS - 1, 16)) == later_link);
}

static char named;

static void name_it_first(void) {
    check_equal(ilk_set_name(&named, "first"), ILK_OK);
}

TEST(an_object_that_two_threads_name_has_one_name) {
    char name[ILK_NAME_SIZE];
    meanwhile = name_it_first;
    check_equal(ilk_set_name(&named, "second"), ILK_OK);
    check(meanwhile == NULL);
    check(ilk_get_name(&named, name, sizeof name));
    check_equal(strcmp(name, "second"), 0);
    check_equal(ilk_set_name(&named, NULL), ILK_OK);
    check(!ilk_get_name(&named, name, sizeof name));
    check_equal(ilk_set_name(&named, "third"), ILK_OK);
    check_equal(ilk_set_name(&named, ""), ILK_OK);
    check(!ilk_get_name(&named, name, sizeof name));
}
