/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a text begins with JSON: RFC 8259, but for escapes of half a character; and numbers are whole ones here.
 */
#ifndef INTERLOCK_TESTS_DIAGNOSTICS_WELL_FORMED_H
#define INTERLOCK_TESTS_DIAGNOSTICS_WELL_FORMED_H

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static inline const char *after_space(const char *at) {
    return at + strspn(at, " \n\r\t");
}

/* Behind the string that begins at `at`; NULL: there is none. */
static inline const char *after_string(const char *at) {
    if (*at++ != '"') {
        return NULL;
    }
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < ' ') {
            return NULL; /* the end of the text too */
        }
        if (*at == '\\') {
            at++;
            if (*at == '\0' || strchr("\"\\/bfnrtu", *at) == NULL) {
                return NULL;
            }
            if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") < 4) {
                return NULL;
            }
        }
    }
    return at + 1;
}

/* Behind the value that begins at `at`; NULL: there is none. */
static inline const char *after_value(const char *at) {
    if (*at == '"') {
        return after_string(at);
    }
    if (strncmp(at, "null", 4) == 0) {
        return at + 4;
    }
    if (isdigit((unsigned char)*at)) {
        return at + strspn(at, "0123456789");
    }
    if (*at != '{' && *at != '[') {
        return NULL;
    }
    const bool has_keys = *at == '{';
    const char close = has_keys ? '}' : ']';
    at = after_space(at + 1);
    if (*at == close) {
        return at + 1;
    }
    for (;;) {
        if (has_keys) {
            at = after_string(at);
            if (at == NULL || *(at = after_space(at)) != ':') {
                return NULL;
            }
            at = after_space(at + 1);
        }
        at = after_value(at);
        if (at == NULL) {
            return NULL;
        }
        at = after_space(at);
        if (*at == close) {
            return at + 1;
        }
        if (*at != ',') {
            return NULL;
        }
        at = after_space(at + 1);
    }
}

/* Behind the value that `text` begins with, and space; NULL: there is none. */
static inline const char *after_json(const char *text) {
    const char *end = after_value(after_space(text));
    return end != NULL ? after_space(end) : NULL;
}

#endif
