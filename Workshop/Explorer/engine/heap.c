/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's heap: one arena at a fixed address, without reuse in an execution, so a pointer to freed memory
 * stays recognisable. Freeing is a plain write to the block. What an execution leaves allocated is no
 * finding.
 */
#include "heap.h"
#include "state.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARENA_SIZE = 4 << 20, GRAIN = 16, HEADER = 16 };

static unsigned char *arena;
static size_t used;
static size_t live;
static unsigned char alive[ARENA_SIZE / GRAIN]; /* by grain */

void ex_heap_open(void) {
    void *wanted = (void *)(uintptr_t)0x6200000000;
    arena = mmap(wanted, ARENA_SIZE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (arena != wanted) {
        perror("explorer: no memory for the heap");
        exit(2);
    }
}

void ex_heap_reset(void) {
    memset(alive, 0, used / GRAIN);
    used = 0;
    live = 0;
}

bool ex_heap_holds(uintptr_t address) {
    return address - (uintptr_t)arena < ARENA_SIZE;
}

bool ex_heap_live(uintptr_t address) {
    return alive[(address - (uintptr_t)arena) / GRAIN];
}

void *ex_allocate(size_t size, size_t alignment) {
    if (!ex.running) {
        return malloc(size); /* a constructor's, or a check's after a failure */
    }
    alignment = alignment < GRAIN ? GRAIN : alignment;
    size_t start = (used + HEADER + alignment - 1) & ~(alignment - 1);
    size_t rounded = (size + GRAIN - 1) & ~(size_t)(GRAIN - 1);
    if (start + rounded > ARENA_SIZE) {
        ex_fail(EX_BEYOND, "more than %d bytes allocated in one execution", ARENA_SIZE);
    }
    used = start + rounded;
    live++;
    memcpy(arena + start - HEADER, &rounded, sizeof rounded);
    memset(arena + start, 0xA5, rounded);
    memset(alive + start / GRAIN, 1, rounded / GRAIN);
    return arena + start;
}

void ex_free(void *memory) {
    if (memory == NULL) {
        return;
    }
    if (!ex_heap_holds((uintptr_t)memory)) {
        free(memory);
        return;
    }
    if (!ex.running) {
        return;
    }
    if (!ex_heap_live((uintptr_t)memory)) {
        ex_fail(EX_DEAD_MEMORY, "%p is freed twice", memory);
    }
    size_t size;
    memcpy(&size, (unsigned char *)memory - HEADER, sizeof size);
    static const ex_site here = {"heap.c", __LINE__, "freed memory"};
    ex_plain_retire(memory, size, &here);
    memset(alive + ((unsigned char *)memory - arena) / GRAIN, 0, size / GRAIN);
    live--;
}

size_t ex_heap_count(void) {
    return live;
}

void *ex_allocate_zeroed(size_t count, size_t size) {
    void *memory = ex_allocate(count * size, GRAIN);
    memset(memory, 0, count * size);
    return memory;
}

int ex_allocate_into(void **out, size_t alignment, size_t size) {
    *out = ex_allocate(size, alignment);
    return 0;
}
