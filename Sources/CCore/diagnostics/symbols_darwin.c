/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of functions on Apple systems, as dladdr(3) tells them: exported ones, and others where the symbol table is not
 * stripped. A frame's module and offset are printed too: `atos -o MODULE OFFSET` gives the line. By the documentation;
 * never run.
 */
#include "diagnostics/stack.h"

#if defined(__APPLE__)

#include "diagnostics/demangle.h"
#include "platform/bsd.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const char *ilk__frame_function(const void *frame, char module[ILK__MODULE_SIZE]) {
    Dl_info found;
    const bool is_found = frame != NULL && dladdr((const char *)frame - 1, &found) != 0;
    (void)strlcpy(module, is_found ? last_part(found.dli_fname) : "", ILK__MODULE_SIZE);
    return is_found ? found.dli_sname : NULL;
}

void ilk__text_add_frame(struct ilk__text *text, const void *frame) {
    /* A return address may be the first of the next function. */
    const char *inside = (const char *)frame - 1;
    Dl_info found;
    if (frame == NULL || dladdr(inside, &found) == 0) {
        ilk__text_add(text, "%p", frame);
        return;
    }
    if (found.dli_sname != NULL) {
        char *plain = ilk__demangled(found.dli_sname);
        ilk__text_add(text, "%s+0x%zx ", plain != NULL ? plain : found.dli_sname,
                      (size_t)((uintptr_t)frame - (uintptr_t)found.dli_saddr));
        free(plain);
    }
    ilk__text_add(text, "(%s+0x%zx)", last_part(found.dli_fname),
                  (size_t)((uintptr_t)frame - (uintptr_t)found.dli_fbase));
}

#endif
