/* SPDX-License-Identifier: Apache-2.0
 *
 * See misuse.h.
 */
#include "diagnostics/misuse.h"

#include <interlock/diagnostics.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print(const char *call, const void *object, const char *format, va_list arguments) {
    char line[512];
    char name[ILK_NAME_SIZE];
    bool has_name = ilk_get_name(object, name, sizeof name);
    int length = snprintf(line, sizeof line, "interlock: %s(%p%s%s%s): ", call, object, has_name ? " \"" : "",
                          name, has_name ? "\"" : "");
    vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    (void)strcat(line, "\n");
    /* write(2) is a cancellation point: misuse would end the thread alone, and a note leave the call half done. Without
     * standard error nothing is left to do. */
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
    (void)pthread_setcancelstate(before, &before);
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
