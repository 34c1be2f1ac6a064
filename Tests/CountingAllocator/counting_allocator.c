/* SPDX-License-Identifier: Apache-2.0
 *
 * A program's own malloc takes the place of the C library's for everything that it links, the Swift runtime
 * too. glibc's stays reachable by its internal names.
 */
#include "counting_allocator.h"
#include <errno.h>
#include <features.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define BRINGS_ITS_OWN
#endif
#endif

#if defined(__GLIBC__) && !defined(BRINGS_ITS_OWN)

#include <malloc.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* Initial-exec: the first use in a thread must not allocate. */
static __thread size_t allocations __attribute__((tls_model("initial-exec")));

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    allocations++;
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
        return EINVAL;
    }
    void *allocated = memalign(alignment, size);
    if (allocated == NULL) {
        return ENOMEM;
    }
    *memory = allocated;
    return 0;
}

bool counting_allocator_counts(void) {
    return true;
}

size_t counting_allocator_allocations(void) {
    return allocations;
}

size_t counting_allocator_bytes_in_use(void) {
    return mallinfo2().uordblks;
}

#else

bool counting_allocator_counts(void) {
    return false;
}

size_t counting_allocator_allocations(void) {
    return 0;
}

size_t counting_allocator_bytes_in_use(void) {
    return 0;
}

#endif
