/* SPDX-License-Identifier: Apache-2.0
 *
 * mmap(2). See pages.h.
 */
#include "platform/pages.h"

#include <errno.h>
#include <sys/mman.h>

void *ilk__pages_allocate(size_t size) {
    const int kept = errno; /* as system_call.h */
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        errno = kept;
        return NULL;
    }
    return pages;
}

void ilk__pages_give_back(void *pages, size_t size) {
    (void)munmap(pages, size); /* fails only for what was never mapped */
}
