/* SPDX-License-Identifier: Apache-2.0
 *
 * The demanglers of the runtimes, found by name: the core links neither. See demangle.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif

#include "diagnostics/demangle.h"

#include <dlfcn.h>
#include <interlock/inline/atomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef char *swift_demangler(const char *mangled, size_t length, char *buffer, size_t *size, uint32_t flags);
typedef char *cxx_demangler(const char *mangled, char *buffer, size_t *size, int *status);

/* ISO C has no conversion from what dlsym gives. */
static void find_function(const char *name, void *function, size_t size) {
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &found, size);
}

static ILK_ATOMIC(swift_demangler *) of_swift;

void ilk__demangle_prepare(void) {
    swift_demangler *demangle;
    find_function("swift_demangle", &demangle, sizeof demangle);
    ilk_atomic_store(&of_swift, demangle, memory_order_relaxed); /* DM1 */
}

char *ilk__demangled(const char *name) {
    if (strncmp(name, "$s", 2) == 0) {
        /* DM1 relaxed: one function, which was there before the process began to diagnose. */
        swift_demangler *demangle = ilk_atomic_load(&of_swift, memory_order_relaxed);
        if (demangle == NULL) {
            find_function("swift_demangle", &demangle, sizeof demangle);
        }
        return demangle != NULL ? demangle(name, strlen(name), NULL, NULL, 0) : NULL;
    }
    if (strncmp(name, "_Z", 2) == 0) {
        cxx_demangler *demangle;
        find_function("__cxa_demangle", &demangle, sizeof demangle);
        int status = 0;
        return demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
    }
    return NULL;
}
