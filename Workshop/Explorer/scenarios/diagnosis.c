/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnosis: the order graph, the table of objects, and the threads' records beside their readers.
 */
#include "../model/diagnosis.h"
#include "../explorer.h"
#include "../model/core.h" /* as the core: its index and records have these sizes */
#include <diagnostics/edges.h>
#include <diagnostics/observe.h>
#include <diagnostics/report.h>
#include <diagnostics/rings.h>
#include <interlock/diagnostics.h>

/* ---- The graph ---- */

/* Locks that nothing guards: the threads only say that they take them, so that no schedule deadlocks. */
static struct {
    char a, b, c, g, later, none;
    uint64_t ordered_id;
} said;

static void renew(char *object, ilk_object_kind kind) {
    ilk__object_forget(object);
    (void)ilk__object_of(object, kind);
}

static void setup_graph(void) {
    *ex_reports() = (struct ex_reports){0};
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    renew(&said.a, ILK_OBJECT_MUTEX);
    renew(&said.b, ILK_OBJECT_MUTEX);
    renew(&said.c, ILK_OBJECT_MUTEX);
    renew(&said.g, ILK_OBJECT_MUTEX);
}

static void take(const char *object) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, object, ILK_OBJECT_MUTEX, ILK__SHARE_WRITE, false, UINT64_MAX, NULL);
    ilk__watch_end(&watch, true);
}
static void take_both(const char *first, const char *second) {
    take(first);
    take(second);
    ilk__watch_release(second, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(first, ILK__SHARE_WRITE, NULL);
}
static void a_then_b(void) {
    take_both(&said.a, &said.b);
}
static void b_then_a(void) {
    take_both(&said.b, &said.a);
}
static void b_then_c(void) {
    take_both(&said.b, &said.c);
}
static void c_then_a(void) {
    take_both(&said.c, &said.a);
}

static void c_ends(void) {
    ilk__object_forget(&said.c);
    renew(&said.c, ILK_OBJECT_MUTEX);
}

static void check_one_inversion(void) {
    ex_expect(ex_reports()->inversions == 1, "%u inversions are reported", ex_reports()->inversions);
}
static void check_cycle_of_three(void) {
    check_one_inversion();
    ex_assert(ex_reports()->latest_count == 3);
}
static void check_silence(void) {
    ex_expect(ex_reports()->inversions == 0, "%u inversions are reported", ex_reports()->inversions);
}

#define GRAPH(identifier, text, says, checks, ...)                                                           \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "order-" text, .claim = says, .setup = setup_graph, .threads = {__VA_ARGS__},                \
        .check = checks, .step_limit = 20000, .sc_bound = 2, .weak_bound = 1                                 \
    }

GRAPH(order_two, "opposite", "of two opposite orders exactly one is reported", check_one_inversion, a_then_b,
      b_then_a);
GRAPH(order_three, "three", "the third of three orders in a cycle is reported", check_cycle_of_three,
      a_then_b, b_then_c, c_then_a);
GRAPH(order_same, "same", "the same order is silent", check_silence, a_then_b, a_then_b);
static void a_then_b_guarded(void) {
    take(&said.g);
    a_then_b();
    ilk__watch_release(&said.g, ILK__SHARE_WRITE, NULL);
}
static void b_then_a_guarded(void) {
    take(&said.g);
    b_then_a();
    ilk__watch_release(&said.g, ILK__SHARE_WRITE, NULL);
}
GRAPH(order_guarded, "guarded", "orders behind a common guard are silent", check_silence, a_then_b_guarded,
      b_then_a_guarded);
GRAPH(order_unguarded, "unguarded", "one sighting without the guard is reported", check_one_inversion,
      a_then_b_guarded, b_then_a_guarded, a_then_b);

static void c_then_a_after_end(void) {
    c_ends();
    take_both(&said.c, &said.a);
}

static void setup_a_then_c(void) {
    setup_graph();
    take_both(&said.a, &said.c);
}

/* The order of the first thread is with one of the two objects at the same address. Only with the second is it the
 * opposite of the order that follows. */
static void b_then_c_noted(void) {
    struct ilk__watch watch;
    take(&said.b);
    ilk__watch_begin(&watch, &said.c, ILK_OBJECT_MUTEX, ILK__SHARE_WRITE, false, UINT64_MAX, NULL);
    ilk__watch_end(&watch, true);
    said.ordered_id = watch.id;
    ilk__watch_release(&said.c, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(&said.b, ILK__SHARE_WRITE, NULL);
}
static void c_then_b_after_end(void) {
    c_ends();
    take_both(&said.c, &said.b);
}
static void check_ended(void) {
    const bool is_second = said.ordered_id == ilk__object_id(ilk__object_find(&said.c));
    ex_expect(ex_reports()->inversions == is_second,
              "%u inversions are reported of an order with the %s object", ex_reports()->inversions,
              is_second ? "second" : "first");
}
GRAPH(order_ended, "ended", "an order with what has ended is not one with its successor", check_ended,
      b_then_c_noted, c_then_b_after_end);

static void setup_a_then_b(void) {
    setup_graph();
    a_then_b();
}

EX_SCENARIO(order_reused){
    .name = "order-reused",
    .claim = "an order with what has ended closes no cycle of three with its successor",
    .setup = setup_a_then_b,
    .threads = {b_then_c_noted, c_then_a_after_end},
    .check = check_ended,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 1,
};

EX_SCENARIO(order_followed){
    .name = "order-followed",
    .claim = "an order with what has ended closes no cycle with its successor",
    .setup = setup_a_then_c,
    .threads = {c_then_a_after_end, a_then_b},
    .check = check_silence,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 1,
};

/* ---- Proofs ---- */

static void setup_readers(void) {
    setup_graph();
    renew(&said.a, ILK_OBJECT_RWLOCK);
    renew(&said.b, ILK_OBJECT_RWLOCK);
}

static void take_as(const char *object, enum ilk__share share) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, object, ILK_OBJECT_RWLOCK, share, false, UINT64_MAX, NULL);
    ilk__watch_end(&watch, true);
}
static void read_both(const char *first, const char *second) {
    take_as(first, ILK__SHARE_READ);
    take_as(second, ILK__SHARE_READ);
    ilk__watch_release(second, ILK__SHARE_READ, NULL);
    ilk__watch_release(first, ILK__SHARE_READ, NULL);
}
static void write_one(const char *object) {
    take_as(object, ILK__SHARE_WRITE);
    ilk__watch_release(object, ILK__SHARE_WRITE, NULL);
}
static void read_a_then_b(void) {
    read_both(&said.a, &said.b);
}
static void read_b_then_a(void) {
    read_both(&said.b, &said.a);
}
static void write_each(void) {
    write_one(&said.a);
    write_one(&said.b);
}

/* Whenever the writer came, the orders are searched with what it has proven. */
static void check_readers(void) {
    read_a_then_b();
    read_b_then_a();
    check_one_inversion();
}

EX_SCENARIO(order_proven){
    .name = "order-proven",
    .claim = "opposite orders of readers are reported once both locks were written",
    .setup = setup_readers,
    .threads = {read_a_then_b, read_b_then_a, write_each},
    .check = check_readers,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 1,
};

static void setup_read_orders(void) {
    setup_readers();
    read_a_then_b();
    read_b_then_a();
}

EX_SCENARIO(order_proven_beside){
    .name = "order-proven_beside",
    .claim = "a search for what a lock has proven sees it",
    .setup = setup_read_orders,
    .threads = {write_each, read_a_then_b, read_b_then_a},
    .check = check_readers,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 2,
    .stale_in_a_row = 8,
};

static void setup_read_order(void) {
    setup_readers();
    read_b_then_a();
}
/* Only the new order, which was searched beside the writer, is asked for again. */
static void check_reader(void) {
    read_a_then_b();
    check_one_inversion();
}

EX_SCENARIO(order_proven_seen){
    .name = "order-proven_seen",
    .claim = "an order counts as searched for the proofs that its search has seen",
    .setup = setup_read_order,
    .threads = {write_each, read_a_then_b},
    .check = check_reader,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 2,
    .stale_in_a_row = 8,
};

/* ---- An edge that changes ---- */

static void take_a_then_b_as(enum ilk__share share) {
    take_as(&said.a, share);
    take(&said.b);
    ilk__watch_release(&said.b, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(&said.a, share, NULL);
}
static void upgradable_a_then_b(void) {
    take_a_then_b_as(ILK__SHARE_UPGRADABLE);
}
static void read_a_then_take_b(void) {
    take_a_then_b_as(ILK__SHARE_READ);
}

/* Both orders behind the guard: silent. An upgradable holder keeps another waiting, a reader does not. */
static void setup_changing(void) {
    setup_graph();
    renew(&said.a, ILK_OBJECT_RWLOCK);
    take(&said.g);
    upgradable_a_then_b();
    take(&said.b);
    take_as(&said.a, ILK__SHARE_UPGRADABLE);
    ilk__watch_release(&said.a, ILK__SHARE_UPGRADABLE, NULL);
    ilk__watch_release(&said.b, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(&said.g, ILK__SHARE_WRITE, NULL);
    check_silence();
}

/* The reader's sighting takes the guard away, the other's closes the cycle. */
EX_SCENARIO(order_changing){
    .name = "order-changing",
    .claim = "an order is searched though another sighting changes its edge meanwhile",
    .setup = setup_changing,
    .threads = {upgradable_a_then_b, read_a_then_take_b},
    .check = check_one_inversion,
    .step_limit = 20000,
    .sc_bound = 3,
    .weak_bound = 2,
};

static uint64_t list_of(uint64_t hash) {
    return hash >> 32 & (ILK__INDEX_FIRST - 1);
}
static uint64_t list_of_edge(const char *from, const char *to) {
    const uint64_t from_id = ilk__object_id(ilk__object_find(from));
    const uint64_t to_id = ilk__object_id(ilk__object_find(to));
    return list_of(ilk__index_hash(from_id * 31 + ilk__index_hash(to_id)));
}
/* An edge from a to c: as c has ended, the edge from a to b is made in its place. */
static void setup_made_over(void) {
    setup_graph();
    renew(&said.a, ILK_OBJECT_RWLOCK);
    while (list_of_edge(&said.a, &said.c) != list_of_edge(&said.a, &said.b)) {
        renew(&said.c, ILK_OBJECT_MUTEX);
    }
    take(&said.b);
    take_as(&said.a, ILK__SHARE_UPGRADABLE);
    ilk__watch_release(&said.a, ILK__SHARE_UPGRADABLE, NULL);
    ilk__watch_release(&said.b, ILK__SHARE_WRITE, NULL);
    take_as(&said.a, ILK__SHARE_UPGRADABLE);
    take(&said.c);
    ilk__watch_release(&said.c, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(&said.a, ILK__SHARE_UPGRADABLE, NULL);
    check_silence();
}
static void read_a_then_take_b_after_end(void) {
    ilk__object_forget(&said.c);
    read_a_then_take_b();
}

EX_SCENARIO(order_made_over){
    .name = "order-made_over",
    .claim = "what was searched for an edge is not taken for searched for the next in its place",
    .setup = setup_made_over,
    .threads = {upgradable_a_then_b, read_a_then_take_b_after_end},
    .check = check_one_inversion,
    .step_limit = 20000,
    .sc_bound = 3,
    .weak_bound = 2,
};

/* An edge from a to b: as a has ended, the edge from its successor to b or to c is made in its place. */
static void setup_mixed(void) {
    setup_graph();
    a_then_b();
    const uint64_t list = list_of_edge(&said.a, &said.b);
    do {
        renew(&said.a, ILK_OBJECT_MUTEX);
    } while (list_of_edge(&said.a, &said.b) != list || list_of_edge(&said.b, &said.a) == list);
    while (list_of_edge(&said.a, &said.c) != list) {
        renew(&said.c, ILK_OBJECT_MUTEX);
    }
    b_then_a();
    check_silence();
}
static void a_then_c(void) {
    take_both(&said.a, &said.c);
}

EX_SCENARIO(order_mixed){
    .name = "order-mixed",
    .claim = "an edge is not known by one end of its own and one of the edge before it",
    .setup = setup_mixed,
    .threads = {a_then_b, a_then_c},
    .check = check_one_inversion,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 2,
};

static struct ilk__order order_of(const char *from, const char *to) {
    static const struct ilk__sighting none;
    struct ilk__object *first = ilk__object_find(from), *second = ilk__object_find(to);
    return (struct ilk__order){.from = first,
                               .to = second,
                               .from_id = ilk__object_id(first),
                               .to_id = ilk__object_id(second),
                               .held = ILK__SHARE_WRITE,
                               .asked = ILK__SHARE_WRITE,
                               .sighting = &none};
}
static void make_edge_between(const char *from, const char *to) {
    const struct ilk__order order = order_of(from, to);
    struct ilk__edge *spare = NULL;
    bool is_to_be_searched, is_full;
    ex_assert(ilk__edge_add(&order, &spare, &is_to_be_searched, &is_full) != NULL);
}

/* In one place of the index: an edge from a to c; then from g to b; then from a to a later lock. */
static void setup_thrice(void) {
    setup_graph();
    renew(&said.later, ILK_OBJECT_MUTEX);
    const uint64_t list = list_of_edge(&said.a, &said.b);
    while (list_of_edge(&said.g, &said.b) != list) {
        renew(&said.g, ILK_OBJECT_MUTEX);
    }
    while (list_of_edge(&said.a, &said.c) != list) {
        renew(&said.c, ILK_OBJECT_MUTEX);
    }
    while (list_of_edge(&said.a, &said.later) != list) {
        renew(&said.later, ILK_OBJECT_MUTEX);
    }
    take_both(&said.a, &said.c);
}
/* Without the mutex of the tables, which no other thread takes. */
static void make_over_twice(void) {
    ilk__edges_end(ilk__object_find(&said.c));
    make_edge_between(&said.g, &said.b);
    ilk__edges_end(ilk__object_find(&said.g));
    make_edge_between(&said.a, &said.later);
}
static void ask_for_a_then_b(void) {
    const struct ilk__order order = order_of(&said.a, &said.b);
    ex_expect(!ilk__edge_is_known(&order), "an order is known that no thread has taken");
}

EX_SCENARIO(order_thrice){
    .name = "order-thrice",
    .claim = "an edge is not known by the ends of two others in its place, the first of which comes back",
    .once_failed = {"weak 39:1,59:2,64:1"},
    .setup = setup_thrice,
    .threads = {make_over_twice, ask_for_a_then_b},
    .check = check_silence,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 2,
};

/* ---- Objects that follow each other ---- */

/* Two addresses of one list of the index: the second object is made in the first's place. */
static struct {
    char first;
    char others[4096];
    char *second;
    uint64_t first_id;
    struct ilk__object *object; /* of both */
} places;

static void setup_places(void) {
    setup_graph();
    places.second = places.others;
    while (list_of(ilk__index_hash_of(places.second)) != list_of(ilk__index_hash_of(&places.first))) {
        places.second++;
    }
    renew(&places.first, ILK_OBJECT_MUTEX);
    places.object = ilk__object_find(&places.first);
    places.first_id = ilk__object_id(places.object);
}
static void second_follows(void) {
    ilk__object_forget(&places.first);
    renew(places.second, ILK_OBJECT_RWLOCK);
}
static void find_first(void) {
    const uint64_t id = ilk__object_id_at(places.object, &places.first);
    ex_expect(id == 0 || id == places.first_id, "the second is found at the first's address");
}
static void find_second(void) {
    const uint64_t id = ilk__object_id_at(places.object, places.second);
    ex_expect(id != places.first_id, "the first is found at the second's address");
}
static void check_second_has_followed(void) {
    ex_expect(ilk__object_find(&places.first) == NULL, "the first is found after its end");
    ex_expect(ilk__object_find(places.second) == places.object, "the second has another place");
}
/* The first ends while it is waited for. */
static void take_first(void) {
    take(&places.first);
}
static void check_second_is_free(void) {
    static struct ilk__record copy;
    for (struct ilk__record *record = ilk__records_first(); record != NULL;
         record = ilk__record_next(record)) {
        if (!ilk__record_copy(record, &copy) || ilk__held_places(&copy) == 0) {
            continue;
        }
        const struct ilk__object *object = ilk__held_object(&copy.held[0]);
        const bool is_current = ilk__object_id(object) == ilk__record_get(&copy.held[0].id);
        ex_expect(!is_current || ilk__object_address(object) == &places.first, "the second is held");
    }
}

#define PLACES(identifier, text, says, checks, ...)                                                          \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "object-" text, .claim = says, .setup = setup_places, .threads = {__VA_ARGS__},              \
        .check = checks, .step_limit = 20000, .sc_bound = 2, .weak_bound = 2                                 \
    }

PLACES(object_found, "found", "an object is found at its own address", check_second_has_followed, find_first,
       find_second, second_follows);
PLACES(object_followed, "followed", "a thread that waits for what ends does not hold what follows it",
       check_second_is_free, take_first, second_follows);

static void begin_later(void) {
    renew(&said.later, ILK_OBJECT_MUTEX);
}
static void find_earlier(void) {
    ex_expect(ilk__object_find(&said.a) != NULL, "an object is not found");
    ex_expect(ilk__object_find(&said.none) == NULL, "an object is found where none is");
}

EX_SCENARIO(object_index){
    .name = "object-index",
    .claim = "objects are found while the index gets another table",
    .setup = setup_graph,
    .threads = {begin_later, find_earlier},
    .step_limit = 20000,
};

/* The times of an object that has ended go to the next. */
static void setup_times(void) {
    setup_graph();
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk__figures_add_wait(ilk__object_times(ilk__object_of(&said.a, ILK_OBJECT_MUTEX)), 1);
    ilk__object_forget(&said.a);
}
static void times_follow(void) {
    renew(&said.b, ILK_OBJECT_MUTEX);
}
static void read_times(void) {
    const struct ilk__object *object = ilk__object_find(&said.b);
    const struct ilk__counters *times = object != NULL ? ilk__object_times(object) : NULL;
    ex_expect(times == NULL || ilk__figure(&times->wait.count) == 0, "it has waits of the object before it");
}

EX_SCENARIO(object_times){
    .name = "object-times",
    .claim = "an object's times are empty as it begins",
    .setup = setup_times,
    .threads = {times_follow, read_times},
    .step_limit = 20000,
};

/* ---- Records ---- */

static void hold_and_release(void) {
    take(&said.a);
    take(&said.b);
    ilk__watch_release(&said.a, ILK__SHARE_WRITE, NULL);
    ilk__watch_release(&said.b, ILK__SHARE_WRITE, NULL);
}

static const void *address_held(const struct ilk__record *record, unsigned place) {
    const struct ilk__object *object = ilk__held_object(&record->held[place]);
    return place < ilk__held_places(record) && object != NULL ? ilk__object_address(object) : NULL;
}

/* Every copy is a state that the record has had: nothing, a, a and b, or b. */
static void copy_record(void) {
    static struct ilk__record copy;
    for (struct ilk__record *record = ilk__records_first(); record != NULL;
         record = ilk__record_next(record)) {
        if (!ilk__record_copy(record, &copy)) {
            continue;
        }
        const unsigned count = ilk__held_places(&copy);
        ex_assert(count <= 2);
        const void *first = address_held(&copy, 0), *second = address_held(&copy, 1);
        ex_expect(count != 2 || (first == &said.a && second == &said.b), "a copy mixes two states");
        ex_expect(count != 1 || first == &said.a || first == &said.b, "a copy has what was never held");
    }
}

EX_SCENARIO(record_copy){
    .name = "record-copy",
    .claim = "a copy of a record is one of its states",
    .setup = setup_graph,
    .threads = {hold_and_release, copy_record},
    .step_limit = 40000,
    .sc_bound = 2,
    .weak_bound = 1,
};

static void hold_b_to_the_end(void) {
    take(&said.b);
}
static void take_and_end(void) {
    take(&said.a);
    ilk__record_release(ilk__record_mine());
}
static void check_b_is_held(void) {
    static struct ilk__record copy;
    unsigned held = 0;
    for (struct ilk__record *record = ilk__records_first(); record != NULL;
         record = ilk__record_next(record)) {
        if (ilk__record_copy(record, &copy)) {
            held += ilk__held_places(&copy);
            ex_assert(ilk__object_address(ilk__held_object(&copy.held[0])) == &said.b);
        }
    }
    ex_assert(held == 1);
}

EX_SCENARIO(record_reused){
    .name = "record-reused",
    .claim = "a thread that gets the record of one that has ended finds it empty",
    .setup = setup_graph,
    .threads = {take_and_end, hold_b_to_the_end},
    .check = check_b_is_held,
    .step_limit = 20000,
    .sc_bound = 2,
    .weak_bound = 2,
};

/* ---- Rings ---- */

static struct { uint64_t memory; /* the ring's own: gone once it has ended */ } ring;

static size_t ring_depth(const void *depth_of) {
    ilk_plain_read(depth_of, sizeof ring);
    ex_assert(ring.memory == 1);
    return 0;
}
static void setup_ring(void) {
    setup_graph();
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ring.memory = 1;
    ilk__ring_begin(&ring, ILK_OBJECT_SPSC, 1, ring_depth);
}
static void sample_rings(void) {
    (void)ilk__rings_sample(1);
}
static void end_ring(void) {
    ilk__object_forget(&ring);
    ilk_plain_write(&ring, sizeof ring);
    ring.memory = 0;
}
static void check_no_ring(void) {
    ex_assert(!ilk__rings_sample(2));
}

EX_SCENARIO(ring_ends){
    .name = "ring-ends",
    .claim = "a ring is not sampled after its end",
    .setup = setup_ring,
    .threads = {sample_rings, end_ring},
    .check = check_no_ring,
    .step_limit = 20000,
};

EX_MUST_REACH(states){
    {"order-ended", {EX_ORDER_OF_ENDED}},
    {"order-made_over order-mixed", {EX_EDGE_MADE_OVER}},
    {"order-mixed", {EX_EDGE_CHANGES_AS_READ}},
    {"order-changing order-proven_beside", {EX_EDGE_SEARCHED_AGAIN}},
    {"object-found", {EX_OBJECT_FOLLOWS, EX_OBJECT_CHANGES_AS_READ}},
    {"object-index", {EX_INDEX_GROWS}},
    {"object-times", {EX_TIMES_FOLLOW}},
    {"record-copy", {EX_RECORD_CHANGES_AS_COPIED}},
    {"record-reused", {EX_RECORD_TAKEN_OVER}},
};
