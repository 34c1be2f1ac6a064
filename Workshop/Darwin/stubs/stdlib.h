/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, numbers, and the process's end.
 */
#ifndef INTERLOCK_STUB_STDLIB_H
#define INTERLOCK_STUB_STDLIB_H

#include <stddef.h>

void *malloc(size_t size) __attribute__((warn_unused_result));
void *calloc(size_t count, size_t size) __attribute__((warn_unused_result));
void *aligned_alloc(size_t alignment, size_t size) __attribute__((warn_unused_result));
void free(void *memory);
#define EXIT_SUCCESS 0

void abort(void) __attribute__((noreturn));
void exit(int status) __attribute__((noreturn));
int atexit(void (*function)(void));
char *getenv(const char *name);
const char *getprogname(void);
double strtod(const char *text, char **end);
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
