/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain memory: data races by vector clocks, and accesses to memory that is gone. A plain access is no
 * scheduling point: two accesses race if neither happens before the other, in whatever order they ran.
 *
 * A grain of four bytes keeps its last write and every thread's last read (Flanagan and Freund, "FastTrack",
 * 2009, without the compression).
 */
#include "state.h"
#include <string.h>

enum { GRAIN = 4, CELLS = 4096 };

typedef struct cell {
    uint32_t generation;
    uint8_t writer;
    uint16_t written; /* the writer's time, 0: never */
    uintptr_t address;
    ex_clock read;
    const ex_site *write_site, *read_site[EX_THREADS];
} cell;

static struct {
    uint32_t generation;
    unsigned used;
    cell cells[CELLS];
} r;

void ex_race_reset(void) {
    r.generation++;
    r.used = 0;
}

static cell *find_cell(uintptr_t address, bool make) {
    unsigned slot = (unsigned)(((uint64_t)address * UINT64_C(0x9E3779B97F4A7C15)) >> 52) % CELLS;
    while (r.cells[slot].generation == r.generation) {
        if (r.cells[slot].address == address) {
            return &r.cells[slot];
        }
        slot = (slot + 1) % CELLS;
    }
    if (!make) {
        return NULL;
    }
    if (++r.used == CELLS) {
        ex_fail(EX_BEYOND, "more than %d bytes of shared plain memory in one execution", CELLS * GRAIN);
    }
    cell *fresh = &r.cells[slot];
    fresh->generation = r.generation;
    fresh->address = address;
    fresh->written = 0;
    memset(&fresh->read, 0, sizeof fresh->read);
    return fresh;
}

void ex_check_alive(uintptr_t address, size_t size) {
    (void)size;
    uintptr_t offset = address - ex_stack_base;
    if (offset < (uintptr_t)EX_THREADS * EX_STACK_SIZE) {
        unsigned owner = (unsigned)(offset / EX_STACK_SIZE);
        if (owner != ex.current &&
            (ex.thread[owner].ended || address < ex_fiber_depth(&ex.thread[owner].fiber))) {
            ex_fail(EX_DEAD_MEMORY, "%p lies in a stack frame of %s that has returned", (void *)address,
                    ex_title(owner));
        }
    } else if (ex_heap_holds(address) && !ex_heap_live(address)) {
        ex_fail(EX_DEAD_MEMORY, "%p lies in freed memory", (void *)address);
    }
}

static _Noreturn void report(const char *what, const volatile void *address, const ex_site *site,
                             unsigned other, const char *other_what, const ex_site *other_site) {
    ex_fail(EX_RACE, "%s of %s (%p, %s:%d) by %s has no order with the %s by %s (%s:%d)", what, site->object,
            (const void *)address, site->file, site->line, ex_title(ex.current), other_what, ex_title(other),
            other_site == NULL ? "?" : other_site->file, other_site == NULL ? 0 : other_site->line);
}

static bool knows(unsigned thread, uint16_t time) {
    return ex_me()->now.clock.at[thread] >= time;
}

static void check_against_write(const char *what, const cell *found, const volatile void *address,
                                const ex_site *site) {
    if (found->written != 0 && !knows(found->writer, found->written)) {
        report(what, address, site, found->writer, "write", found->write_site);
    }
}

static uintptr_t first_grain(const volatile void *address) {
    return (uintptr_t)address & ~(uintptr_t)(GRAIN - 1);
}

void ex_plain_read(const volatile void *address, size_t size, const ex_site *site) {
    if (!ex.running) {
        return;
    }
    ex_check_alive((uintptr_t)address, size);
    uint16_t now = ++ex_me()->now.clock.at[ex.current];
    for (uintptr_t at = first_grain(address); at < (uintptr_t)address + size; at += GRAIN) {
        cell *found = find_cell(at, true);
        check_against_write("the read", found, address, site);
        found->read.at[ex.current] = now;
        found->read_site[ex.current] = site;
    }
    if (ex.recording) {
        ex_trace(site, "read %s", site->object);
    }
}

/* A plain write over an atomic object begins another object: every use of the old one must happen before.
 * This finds uses of reused queue nodes and freed blocks. */
static void end_atomic(uintptr_t at, const volatile void *address, const ex_site *site) {
    ex_location *location = ex_find_location(at);
    if (location == NULL) {
        return;
    }
    for (unsigned i = 0; i < EX_THREADS; i++) {
        if (i != ex.current && !knows(i, location->touched.at[i])) {
            report("the write", address, site, i, "atomic access", location->touched_at[i]);
        }
    }
    ex_forget_location(location);
}

static void write_grain(cell *found, uintptr_t at, const volatile void *address, const ex_site *site) {
    check_against_write("the write", found, address, site);
    for (unsigned i = 0; i < EX_THREADS; i++) {
        if (i != ex.current && !knows(i, found->read.at[i])) {
            report("the write", address, site, i, "read", found->read_site[i]);
        }
    }
    end_atomic(at, address, site);
    found->writer = (uint8_t)ex.current;
    found->written = ex_me()->now.clock.at[ex.current];
    found->write_site = site;
    memset(&found->read, 0, sizeof found->read);
}

void ex_plain_write(const volatile void *address, size_t size, const ex_site *site) {
    if (!ex.running) {
        return;
    }
    ex_check_alive((uintptr_t)address, size);
    ex_me()->now.clock.at[ex.current]++;
    for (uintptr_t at = first_grain(address); at < (uintptr_t)address + size; at += GRAIN) {
        write_grain(find_cell(at, true), at, address, site);
    }
    if (ex.recording) {
        ex_trace(site, "write %s", site->object);
    }
}

void ex_plain_retire(const volatile void *address, size_t size, const ex_site *site) {
    ex_me()->now.clock.at[ex.current]++;
    for (uintptr_t at = first_grain(address); at < (uintptr_t)address + size; at += GRAIN) {
        cell *found = find_cell(at, false);
        if (found != NULL) {
            write_grain(found, at, address, site);
        } else {
            end_atomic(at, address, site);
        }
    }
    if (ex.recording) {
        ex_trace(NULL, "frees %p", (const void *)address);
    }
}

/* The first atomic access must come after the plain write that initialised the memory. */
void ex_check_initialised(const ex_location *location) {
    cell *found = find_cell(location->address & ~(uintptr_t)(GRAIN - 1), false);
    if (found != NULL && found->writer != ex.current && found->written != 0 &&
        !knows(found->writer, found->written)) {
        ex_fail(EX_RACE, "an atomic access by %s to %p has no order with its initialisation by %s (%s:%d)",
                ex_title(ex.current), (void *)location->address, ex_title(found->writer),
                found->write_site->file, found->write_site->line);
    }
}
