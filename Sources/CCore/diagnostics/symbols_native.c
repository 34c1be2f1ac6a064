/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of functions from the symbol tables of the program's ELF files, which know static functions too (the dynamic
 * tables that dladdr reads do not). Files are mapped at their first use and stay so.
 *
 * A frame's module and offset are printed too: `addr2line -e MODULE -f OFFSET` or llvm-symbolizer give the line.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif

#include "diagnostics/stack.h"

#if !defined(__APPLE__)

#include "diagnostics/demangle.h"
#include "diagnostics/tables.h"
#include "platform/bsd.h"
#include "platform/side_effects.h"
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 64, MODULE_PATH = 256 };

struct module {
    char path[MODULE_PATH];
    uintptr_t address;
    uintptr_t bias; /* what the loader added to the file's addresses */
};

struct mapped_file {
    char path[MODULE_PATH];
    const unsigned char *bytes; /* NULL: it could not be mapped */
    size_t size;
};

static struct mapped_file files[FILES_MOST]; /* with the tables locked */
static unsigned file_count;

static int find_module(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    struct module *module = context;
    for (unsigned index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[index];
        const uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && module->address - begin < header->p_memsz) {
            const char *path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
            (void)strncpy(module->path, path, sizeof module->path - 1);
            module->bias = info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

static const struct mapped_file *map_file(const char path[MODULE_PATH]) {
    for (unsigned index = 0; index < file_count; index++) {
        if (strcmp(files[index].path, path) == 0) {
            return &files[index];
        }
    }
    if (file_count == FILES_MOST) {
        return NULL;
    }
    struct mapped_file *mapped = &files[file_count++];
    memcpy(mapped->path, path, sizeof mapped->path);
    struct ilk__side_effects before;
    ilk__side_effects_hold(&before);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof(ElfW(Ehdr))) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        mapped->bytes = bytes != MAP_FAILED ? bytes : NULL;
        mapped->size = (size_t)status.st_size;
    }
    if (file >= 0) {
        (void)close(file);
    }
    ilk__side_effects_release(&before);
    return mapped;
}

static bool lies_within(const struct mapped_file *file, uint64_t offset, uint64_t size) {
    return offset <= file->size && size <= file->size - offset;
}

/* The symbol in the section of `type` that holds `offset`; NULL. `*begin` is its first address. */
static const char *find_symbol(const struct mapped_file *file, uint32_t type, uintptr_t offset,
                               uintptr_t *begin) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(const void *)file->bytes;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        !lies_within(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr)))) {
        return NULL;
    }
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(const void *)(file->bytes + header->e_shoff);
    for (unsigned index = 0; index < header->e_shnum; index++) {
        const ElfW(Shdr) *section = &sections[index];
        if (section->sh_type != type || section->sh_link >= header->e_shnum ||
            !lies_within(file, section->sh_offset, section->sh_size)) {
            continue;
        }
        const ElfW(Shdr) *names = &sections[section->sh_link];
        const ElfW(Sym) *symbols = (const ElfW(Sym) *)(const void *)(file->bytes + section->sh_offset);
        for (size_t place = 0; place < section->sh_size / sizeof *symbols; place++) {
            const ElfW(Sym) *symbol = &symbols[place];
            if ((symbol->st_info & 0xF) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
                offset >= symbol->st_value && offset - symbol->st_value < symbol->st_size &&
                lies_within(file, names->sh_offset + symbol->st_name, 1)) {
                *begin = symbol->st_value;
                return (const char *)file->bytes + names->sh_offset + symbol->st_name;
            }
        }
    }
    return NULL;
}

/* Compilers make variants and parts of C functions, under their names with an ending: ".cold", ".constprop.0". */
static size_t length_without_ending(const char *name) {
    const char *ending = strchr(name, '.');
    return ending != NULL && ending != name ? (size_t)(ending - name) : strlen(name);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool find_frame(const void *frame, struct module *module) {
    /* A return address may be the first of the next function. */
    module->address = (uintptr_t)frame - 1;
    if (frame == NULL) {
        return false;
    }
    sigset_t before;
    ilk__loader_enter(&before);
    const bool is_found = dl_iterate_phdr(find_module, module) != 0;
    ilk__loader_leave(&before);
    return is_found;
}

static const char *function_at(const struct module *module, uintptr_t *begin) {
    sigset_t before;
    ilk__tables_lock(&before);
    const struct mapped_file *file = map_file(module->path);
    ilk__tables_unlock(&before);
    if (file == NULL || file->bytes == NULL) {
        return NULL;
    }
    const uintptr_t offset = module->address - module->bias;
    const char *name = find_symbol(file, SHT_SYMTAB, offset, begin);
    return name != NULL ? name : find_symbol(file, SHT_DYNSYM, offset, begin);
}

const char *ilk__frame_function(const void *frame, char module[ILK__MODULE_SIZE]) {
    struct module found = {.address = 0};
    uintptr_t begin = 0;
    const bool is_found = find_frame(frame, &found);
    (void)strlcpy(module, last_part(found.path), ILK__MODULE_SIZE);
    return is_found ? function_at(&found, &begin) : NULL;
}

void ilk__text_add_frame(struct ilk__text *text, const void *frame) {
    struct module module = {.address = 0};
    if (!find_frame(frame, &module)) {
        ilk__text_add(text, "%p", frame);
        return;
    }
    const uintptr_t offset = module.address - module.bias;
    uintptr_t begin = 0;
    const char *name = function_at(&module, &begin);
    if (name != NULL) {
        char *plain = ilk__demangled(name);
        const size_t length = plain != NULL ? strlen(plain) : length_without_ending(name);
        ilk__text_add(text, "%.*s+0x%zx ", (int)length, plain != NULL ? plain : name,
                      (size_t)(offset + 1 - begin));
        free(plain);
    }
    char program[sizeof module.path] = "";
    if (strcmp(module.path, "/proc/self/exe") == 0) {
        const ssize_t length = readlink(module.path, program, sizeof program - 1);
        program[length > 0 ? length : 0] = '\0';
    }
    ilk__text_add(text, "(%s+0x%zx)", last_part(program[0] != '\0' ? program : module.path),
                  (size_t)offset + 1);
}

#endif
