/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory model: atomic operations, fences and membarrier on locations with kept stores. state.h describes
 * the model; each rule stands at its function below.
 *
 * Stronger than C11 in these ways, each of which can hide a behaviour and none can invent one:
 *   - modification order is the order of execution, and loads never read from later stores: load
 *     buffering, and both-last-stores-lose (2+2W), are never shown;
 *   - the order S of seq_cst operations is the order of execution;
 *   - a load reaches at most EX_STALENESS stores back and is stale at most so often in a row as the scenario says.
 * A release sequence is headed by the release store and continued by read-modify-writes only (C++20).
 */
#include "state.h"
#include <stdatomic.h>
#include <string.h>

enum { SLOTS = 2048 }; /* a power of two, four times EX_LOCATIONS */

static struct {
    uint32_t generation; /* of this execution: older slots count as empty */
    struct {
        uint32_t generation;
        uint16_t id;
        uintptr_t address;
    } slot[SLOTS];
    ex_location location[EX_LOCATIONS];
} m;

static bool acquires(int order) {
    return order == memory_order_acquire || order == memory_order_acq_rel || order == memory_order_seq_cst ||
           order == memory_order_consume;
}

static bool releases(int order) {
    return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

static uint64_t peek(const volatile void *object, unsigned size) {
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)object;
    case 2:
        return *(const volatile uint16_t *)object;
    case 4:
        return *(const volatile uint32_t *)object;
    default:
        return *(const volatile uint64_t *)object;
    }
}

static void poke(volatile void *object, unsigned size, uint64_t value) {
    switch (size) {
    case 1:
        *(volatile uint8_t *)object = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)object = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)object = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)object = value;
        break;
    }
}

static uint64_t narrow(uint64_t value, unsigned size) {
    return size == 8 ? value : value & ((UINT64_C(1) << (8 * size)) - 1);
}

void ex_memory_reset(void) {
    m.generation++;
    ex.locations = 0;
    ex.sc.length = 0;
}

static unsigned slot_of(uintptr_t address) {
    unsigned slot = (unsigned)(((uint64_t)address * UINT64_C(0x9E3779B97F4A7C15)) >> 53) % SLOTS;
    while (m.slot[slot].generation == m.generation && m.slot[slot].address != address) {
        slot = (slot + 1) % SLOTS;
    }
    return slot;
}

ex_location *ex_find_location(uintptr_t address) {
    unsigned slot = slot_of(address);
    return m.slot[slot].generation == m.generation ? &m.location[m.slot[slot].id] : NULL;
}

/* The next access to the address finds a new object: its memory was initialised again, or ended. What threads
 * know of its stores holds for the old number only. */
static void begin_location(unsigned slot, uintptr_t address, unsigned size) {
    if (ex.locations == EX_LOCATIONS) {
        ex_fail(EX_BEYOND, "more than %d atomic objects in one execution", EX_LOCATIONS);
    }
    ex_location *location = &m.location[ex.locations];
    location->address = address;
    location->id = (uint16_t)ex.locations++;
    location->newest = 0;
    location->size = (uint8_t)size;
    memset(location->stale, 0, sizeof location->stale);
    memset(&location->touched, 0, sizeof location->touched);
    ex_store *initial = &location->kept[0];
    initial->value = peek((const volatile void *)address, size);
    initial->number = 0;
    initial->writer = 0;
    initial->carries = false;
    initial->step = 0;
    m.slot[slot].generation = m.generation;
    m.slot[slot].address = address;
    m.slot[slot].id = location->id;
    ex_check_initialised(location);
}

void ex_forget_location(ex_location *location) {
    begin_location(slot_of(location->address), location->address, location->size);
}

static ex_store *newest(ex_location *location) {
    return &location->kept[location->newest % EX_KEPT];
}

ex_location *ex_locate(const volatile void *object, unsigned size) {
    uintptr_t address = (uintptr_t)object;
    ex_check_alive(address, size);
    unsigned slot = slot_of(address);
    if (m.slot[slot].generation != m.generation) {
        begin_location(slot, address, size);
    }
    ex_location *location = &m.location[m.slot[slot].id];
    if (location->size != size) {
        ex_fail(EX_BEYOND, "an atomic object of %u bytes is accessed as %u", location->size, size);
    }
    if (newest(location)->value != peek(object, size)) {
        /* Written plainly since: a new object. */
        begin_location(slot, address, size);
        location = &m.location[m.slot[slot].id];
    }
    return location;
}

static ex_thread *tick(ex_location *location, const ex_site *site) {
    ex_thread *me = ex_me();
    uint16_t now = ++me->now.clock.at[ex.current];
    if (location != NULL) {
        location->touched.at[ex.current] = now;
        location->touched_at[ex.current] = site;
    }
    return me;
}

static void join(ex_knowledge *into, const ex_knowledge *from) {
    ex_clock_join(&into->clock, &from->clock);
    if (ex.weak) {
        ex_view_join(&into->view, &from->view);
    }
}

static void copy(ex_knowledge *into, const ex_knowledge *from) {
    into->clock = from->clock;
    into->view.length = 0;
    if (ex.weak) {
        ex_knowledge_copy(into, from);
    }
}

/* How many stores, counted back from the newest, the current thread may read. Coherence: none older than one
 * it knows of. seq_cst: none older than the last seq_cst store, or than one made known by a seq_cst fence. */
static unsigned visible(const ex_location *location, int order) {
    unsigned reach = location->newest < EX_STALENESS ? location->newest : EX_STALENESS;
    if (!ex.weak || reach == 0 || location->stale[ex.current] >= ex.stale_in_a_row) {
        return 1;
    }
    unsigned oldest = location->newest - reach;
    unsigned known = ex_view_at(&ex_me()->now.view, location->id);
    if (order == memory_order_seq_cst) {
        unsigned told = ex_view_at(&ex.sc, location->id);
        known = known > told ? known : told;
    }
    oldest = oldest > known ? oldest : known;
    return location->newest - oldest + 1;
}

static ex_store *back(ex_location *location, unsigned steps) {
    location->stale[ex.current] = steps == 0 ? 0 : (uint8_t)(location->stale[ex.current] + 1);
    return &location->kept[(location->newest - steps) % EX_KEPT];
}

/* Reading a store: coherence always; the store's message at once if the load acquires, else with the next
 * acquire fence. */
static void read_from(ex_thread *me, const ex_location *location, const ex_store *store, int order) {
    if (ex.weak) {
        ex_view_raise(&me->now.view, location->id, store->number);
    }
    if (store->carries) {
        join(acquires(order) ? &me->now : &me->heard, &store->message);
    }
}

/* Appends a store; the message of `continues`, which a read-modify-write read, is passed on. */
static void append(ex_thread *me, ex_location *location, uint64_t value, int order,
                   const ex_store *continues) {
    bool is_news = newest(location)->value != value;
    uint16_t number = ++location->newest;
    ex_store *store = newest(location);
    /* EX_KEPT is above 1, so `continues` is kept elsewhere. */
    if (ex.weak) {
        ex_view_raise(&me->now.view, location->id, number);
        if (order == memory_order_seq_cst) {
            ex_view_raise(&ex.sc, location->id, number);
        }
    }
    store->value = value;
    store->number = number;
    store->writer = (uint8_t)ex.current;
    store->step = ex.steps;
    store->carries = true;
    copy(&store->message, releases(order) ? &me->now : &me->offered);
    if (continues != NULL && continues->carries) {
        join(&store->message, &continues->message);
    }
    poke((volatile void *)location->address, location->size, value);
    if (is_news) {
        ex_wrote();
    }
}

uint64_t ex_atomic_load(const volatile void *object, unsigned size, int order, const ex_site *site) {
    if (!ex.running) {
        return peek(object, size);
    }
    ex_point();
    ex_location *location = ex_locate(object, size);
    ex_thread *me = tick(location, site);
    unsigned count = visible(location, order);
    ex_store *store = back(location, count > 1 ? ex_choose(count) : 0);
    read_from(me, location, store, order);
    if (ex.recording) {
        ex_trace_operation("load", site, location, store, order, false, 0);
    }
    return store->value;
}

void ex_atomic_store(volatile void *object, unsigned size, uint64_t value, int order, const ex_site *site) {
    value = narrow(value, size);
    if (!ex.running) {
        poke(object, size, value);
        return;
    }
    ex_point();
    ex_location *location = ex_locate(object, size);
    ex_thread *me = tick(location, site);
    append(me, location, value, order, NULL);
    if (ex.recording) {
        ex_trace_operation("store", site, location, NULL, order, true, value);
    }
}

static uint64_t updated(ex_update update, uint64_t old, uint64_t operand) {
    switch (update) {
    case EX_ADD:
        return old + operand;
    case EX_SUBTRACT:
        return old - operand;
    case EX_OR:
        return old | operand;
    case EX_AND:
        return old & operand;
    default:
        return operand;
    }
}

uint64_t ex_atomic_update(volatile void *object, unsigned size, ex_update update, uint64_t operand, int order,
                          const ex_site *site) {
    static const char *const verbs[] = {"exchange", "add", "subtract", "or", "and"};
    if (!ex.running) {
        uint64_t old = peek(object, size);
        poke(object, size, narrow(updated(update, old, operand), size));
        return old;
    }
    ex_point();
    ex_location *location = ex_locate(object, size);
    ex_thread *me = tick(location, site);
    ex_store *store = back(location, 0);
    uint64_t old = store->value;
    uint64_t value = narrow(updated(update, old, operand), size);
    read_from(me, location, store, order);
    append(me, location, value, order, store);
    if (ex.recording) {
        ex_trace_operation(verbs[update], site, location, store, order, true, value);
    }
    return old;
}

/* A failed comparison is only a load of any visible store that differs from what is expected. Alternatives,
 * in this order: the newest store; older ones that differ; a spurious failure, if weak and allowed. */
static ex_store *choose_comparison(ex_location *location, uint64_t expected, int failure, bool weak,
                                   bool *spurious) {
    unsigned reach = visible(location, failure);
    unsigned steps[EX_KEPT];
    unsigned count = 0;
    steps[count++] = 0;
    for (unsigned i = 1; i < reach; i++) {
        if (location->kept[(location->newest - i) % EX_KEPT].value != expected) {
            steps[count++] = i;
        }
    }
    bool may_fail = weak && ex.weak_failures > 0 && newest(location)->value == expected;
    unsigned alternatives = count + may_fail;
    unsigned chosen = alternatives > 1 ? ex_choose(alternatives) : 0;
    *spurious = chosen == count;
    ex.weak_failures -= *spurious;
    return back(location, *spurious ? 0 : steps[chosen]);
}

bool ex_atomic_compare_exchange(volatile void *object, unsigned size, void *expected, uint64_t desired,
                                int success, int failure, bool weak, const ex_site *site) {
    uint64_t wanted = peek(expected, size);
    desired = narrow(desired, size);
    if (!ex.running) {
        uint64_t old = peek(object, size);
        poke(old == wanted ? object : expected, size, old == wanted ? desired : old);
        return old == wanted;
    }
    ex_point();
    ex_location *location = ex_locate(object, size);
    ex_thread *me = tick(location, site);
    bool spurious;
    ex_store *store = choose_comparison(location, wanted, failure, weak, &spurious);
    if (store->value != wanted || spurious) {
        read_from(me, location, store, failure);
        poke(expected, size, store->value);
        if (ex.recording) {
            ex_trace_operation(spurious ? "cas fails spuriously" : "cas fails", site, location, store,
                               failure, false, 0);
        }
        return false;
    }
    read_from(me, location, store, success);
    append(me, location, desired, success, store);
    if (ex.recording) {
        ex_trace_operation("cas", site, location, store, success, true, desired);
    }
    return true;
}

static void take_in(ex_thread *thread) {
    join(&thread->now, &thread->heard);
}

static void offer(ex_thread *thread) {
    copy(&thread->offered, &thread->now);
}

void ex_atomic_fence(int order, const ex_site *site) {
    if (!ex.running) {
        return;
    }
    ex_point();
    ex_thread *me = tick(NULL, site);
    if (acquires(order)) {
        take_in(me);
    }
    if (order == memory_order_seq_cst && ex.weak) {
        /* Store, fence, load on both sides: the later fence knows the earlier one's store. */
        ex_view_join(&me->now.view, &ex.sc);
        ex_view_join(&ex.sc, &me->now.view);
    }
    if (releases(order)) {
        offer(me);
    }
    if (ex.recording) {
        ex_trace_operation("fence", site, NULL, NULL, order, false, 0);
    }
}

/* membarrier(2): as if every thread executed a seq_cst fence at once. */
void ex_heavy_fence(void) {
    for (unsigned i = 0; i < EX_THREADS; i++) {
        take_in(&ex.thread[i]);
        ex_view_join(&ex.sc, &ex.thread[i].now.view);
    }
    for (unsigned i = 0; i < EX_THREADS; i++) {
        ex_view_join(&ex.thread[i].now.view, &ex.sc);
        offer(&ex.thread[i]);
    }
}

void ex_atomic_relax(const ex_site *site) {
    if (!ex.running) {
        return;
    }
    if (ex.recording) {
        ex_trace(site, "relax");
    }
    ex_yield();
}

void ex_acquire_object(const void *object, unsigned size) {
    ex_location *location = ex_locate(object, size);
    read_from(tick(location, NULL), location, newest(location), memory_order_acquire);
}

void ex_kernel_read(void *object, unsigned size) {
    ex_location *location = ex_locate(object, size);
    read_from(tick(location, NULL), location, newest(location), memory_order_relaxed);
}

void ex_kernel_write(void *object, unsigned size, uint64_t value) {
    ex_location *location = ex_locate(object, size);
    append(tick(location, NULL), location, value, memory_order_relaxed, newest(location));
}

void ex_release_object(const void *object, unsigned size) {
    ex_location *location = ex_locate(object, size);
    append(tick(location, NULL), location, peek(object, size), memory_order_release, newest(location));
}
