/* SPDX-License-Identifier: Apache-2.0
 *
 * See misuse.h.
 */
#include "diagnostics/misuse.h"

#include "diagnostics/text.h"
#include <interlock/diagnostics.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const char *call, const void *object, const char *format, va_list arguments) {
    char line[512];
    char name[ILK_NAME_SIZE];
    bool has_name = ilk_get_name(object, name, sizeof name);
    int length = snprintf(line, sizeof line, "interlock: %s(%p%s%s%s): ", call, object, has_name ? " \"" : "",
                          name, has_name ? "\"" : "");
    vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    (void)strcat(line, "\n");
    ilk__text_print(line);
}

ILK_TRUSTED_NONBLOCKING_BEGIN /* misuse prints and never returns: no caller is held up; a note is for slow paths */
    void
    ilk__misuse(const char *call, const void *object, const char *format, ...) ILK_NONBLOCKING {
    va_list arguments;
    va_start(arguments, format);
    print(call, object, format, arguments);
    va_end(arguments);
    abort();
}

void ilk__note(const char *call, const void *object, const char *format, ...) ILK_NONBLOCKING {
    va_list arguments;
    va_start(arguments, format);
    print(call, object, format, arguments);
    va_end(arguments);
}
ILK_TRUSTED_NONBLOCKING_END
