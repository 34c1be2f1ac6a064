/* SPDX-License-Identifier: Apache-2.0
 *
 * Text put together piece by piece in memory of the caller: no allocation, so that reports work with a broken
 * heap. With a file it is written there as the memory fills up; without, what does not fit is left out.
 */
#ifndef INTERLOCK_DIAGNOSTICS_TEXT_H
#define INTERLOCK_DIAGNOSTICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct ilk__text {
    char *bytes; /* always ends in a zero */
    size_t size;
    size_t length;
    int file;  /* -1: none */
    int error; /* errno of the first write that failed */
};

void ilk__text_begin(struct ilk__text *text, char *bytes, size_t size, int file);
void ilk__text_add(struct ilk__text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text of any length, as it is. */
void ilk__text_add_long(struct ilk__text *text, const char *string);
/* Adds a JSON string, with its quotes; bytes that are not UTF-8 become U+FFFD. `<` is escaped too: the text may lie in
 * a page. */
void ilk__text_add_quoted(struct ilk__text *text, const char *string);
/* Writes what is left. */
void ilk__text_end(struct ilk__text *text);

/* Prints `string` on standard error. */
void ilk__text_print(const char *string);

#endif
