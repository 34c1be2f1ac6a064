/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's static data is saved before the first execution and restored before each. Two marks in objects
 * linked right before and after the core's (core_begin.c, core_end.c) enclose it: the linker lays out data in
 * the order of the command line. Without the core the marks are side by side.
 */
#include "state.h"
#include <stdlib.h>
#include <string.h>

extern char ex_data_begin[], ex_data_end[], ex_bss_begin[], ex_bss_end[];

extern char ilk__membarrier_works[] __attribute__((weak)); /* of the core, where there is one */

static char *saved;

static size_t span(const char *from, const char *to) {
    if ((uintptr_t)to < (uintptr_t)from) {
        fputs("explorer: core_begin and core_end are linked in the wrong order\n", stderr);
        exit(2);
    }
    return (size_t)((uintptr_t)to - (uintptr_t)from);
}

void ex_globals_save(void) {
    size_t data = span(ex_data_begin, ex_data_end);
    size_t bss = span(ex_bss_begin, ex_bss_end);
    const char *known = ilk__membarrier_works;
    if (known != NULL && (known < &ex_bss_begin[0] || known >= &ex_bss_end[0])) {
        fputs("explorer: the core's data does not lie between core_begin and core_end\n", stderr);
        exit(2);
    }
    saved = malloc(data + bss + 1);
    memcpy(saved, ex_data_begin, data);
    memcpy(saved + data, ex_bss_begin, bss);
}

void ex_globals_restore(void) {
    size_t data = span(ex_data_begin, ex_data_end);
    size_t bss = span(ex_bss_begin, ex_bss_end);
    memcpy(ex_data_begin, saved, data);
    memcpy(ex_bss_begin, saved + data, bss);
}
