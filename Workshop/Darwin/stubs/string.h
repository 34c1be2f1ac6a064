/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes and strings; strlcpy is the C library's own.
 */
#ifndef INTERLOCK_STUB_STRING_H
#define INTERLOCK_STUB_STRING_H

#include <stddef.h>

int memcmp(const void *one, const void *other, size_t size);
void *memcpy(void *target, const void *source, size_t size);
void *memset(void *target, int byte, size_t size);
char *strcat(char *target, const char *source);
char *strchr(const char *text, int character);
int strcmp(const char *one, const char *other);
size_t strcspn(const char *text, const char *characters);
char *strerror(int error);
size_t strlcpy(char *target, const char *source, size_t size);
size_t strlen(const char *text);
int strncmp(const char *one, const char *other, size_t size);
char *strncpy(char *target, const char *source, size_t size);
size_t strnlen(const char *text, size_t size);
char *strrchr(const char *text, int character);
char *strstr(const char *text, const char *part);

#endif
