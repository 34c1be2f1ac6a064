/* SPDX-License-Identifier: Apache-2.0
 *
 * ELF: the object is opened once more, for good. See stay_loaded.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_NODELETE */
#endif

#include "platform/port.h"
#include "platform/stay_loaded.h"

#if ILK__PORT_ELF

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Absent from a statically linked program, which has nothing to close. dlopen is asked for by name: that
 * program's linker would warn of a reference. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

static int find_self(struct dl_phdr_info *object, size_t size, void *name) {
    (void)size;
    const uintptr_t self = (uintptr_t)&ilk__stay_loaded;
    for (size_t index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[index];
        if (header->p_type == PT_LOAD && self - object->dlpi_addr - header->p_vaddr < header->p_memsz) {
            *(const char **)name = object->dlpi_name;
            return 1;
        }
    }
    return 0;
}

void ilk__stay_loaded(void) {
    const char *name = NULL;
    (void)dl_iterate_phdr(find_self, &name);
    if (name == NULL || name[0] == '\0' || dlsym == NULL) {
        return; /* the program itself */
    }
    void *(*open_again)(const char *name, int mode);
    void *symbol = dlsym(RTLD_DEFAULT, "dlopen");
    memcpy(&open_again, &symbol, sizeof symbol); /* POSIX lets a function's address be data, C does not */
    if (open_again != NULL) {
        (void)open_again(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

#else

void ilk__stay_loaded(void) {}

#endif
