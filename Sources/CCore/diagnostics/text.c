/* SPDX-License-Identifier: Apache-2.0
 *
 * See text.h.
 */
#include "diagnostics/text.h"

#include "platform/side_effects.h"
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void ilk__text_begin(struct ilk__text *text, char *bytes, size_t size, int file) {
    *text = (struct ilk__text){.bytes = bytes, .size = size, .file = file};
    bytes[0] = '\0';
}

static void write_out(struct ilk__text *text) {
    size_t done = 0;
    struct ilk__side_effects before;
    ilk__side_effects_hold(&before);
    while (done < text->length && text->error == 0) {
        ssize_t written = write(text->file, text->bytes + done, text->length - done);
        if (written >= 0) {
            done += (size_t)written;
        } else if (errno != EINTR) {
            text->error = errno;
        }
    }
    ilk__side_effects_release(&before);
    text->length = 0;
    text->bytes[0] = '\0';
}

void ilk__text_print(const char *string) {
    struct ilk__side_effects before;
    ilk__side_effects_hold(&before);
    /* Without standard error nothing is left to do. */
    ssize_t written = write(STDERR_FILENO, string, strlen(string));
    (void)written;
    ilk__side_effects_release(&before);
}

static void add_bytes(struct ilk__text *text, const char *bytes, size_t count) {
    while (count > 0) {
        size_t room = text->size - 1 - text->length;
        if (room == 0 && text->file < 0) {
            return;
        }
        if (room == 0) {
            write_out(text);
            continue;
        }
        size_t part = count < room ? count : room;
        memcpy(text->bytes + text->length, bytes, part);
        text->length += part;
        text->bytes[text->length] = '\0';
        bytes += part;
        count -= part;
    }
}

void ilk__text_add(struct ilk__text *text, const char *format, ...) {
    char piece[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length > 0) {
        add_bytes(text, piece, (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1);
    }
}

void ilk__text_add_long(struct ilk__text *text, const char *string) {
    add_bytes(text, string, strlen(string));
}

/* The length of the UTF-8 character at `bytes`, which end in a zero; 0: none. */
static size_t character_length(const unsigned char *bytes) {
    size_t length = bytes[0] < 0x80                       ? 1
                    : bytes[0] >= 0xC2 && bytes[0] < 0xE0 ? 2
                    : bytes[0] >= 0xE0 && bytes[0] < 0xF0 ? 3
                    : bytes[0] >= 0xF0 && bytes[0] < 0xF5 ? 4
                                                          : 0;
    for (size_t index = 1; index < length; index++) {
        if ((bytes[index] & 0xC0) != 0x80) {
            return 0;
        }
    }
    /* Longer than it need be, half of a surrogate pair, beyond the last character. */
    const bool is_long = length > 2 && bytes[1] < (bytes[0] == 0xE0 ? 0xA0 : bytes[0] == 0xF0 ? 0x90 : 0x80);
    const bool is_beyond = (bytes[0] == 0xED && bytes[1] >= 0xA0) || (bytes[0] == 0xF4 && bytes[1] >= 0x90);
    if (is_long || is_beyond) {
        return 0;
    }
    return length;
}

void ilk__text_add_quoted(struct ilk__text *text, const char *string) {
    add_bytes(text, "\"", 1);
    const unsigned char *bytes = (const unsigned char *)string;
    while (*bytes != 0) {
        size_t length = character_length(bytes);
        if (length == 0) {
            add_bytes(text, "\xEF\xBF\xBD", 3);
            length = 1;
        } else if (*bytes == '"' || *bytes == '\\') {
            ilk__text_add(text, "\\%c", *bytes);
        } else if (*bytes < 0x20 || *bytes == '<' || *bytes == 0x7F) {
            ilk__text_add(text, "\\u%04x", (unsigned)*bytes);
        } else {
            add_bytes(text, (const char *)bytes, length);
        }
        bytes += length;
    }
    add_bytes(text, "\"", 1);
}

void ilk__text_end(struct ilk__text *text) {
    if (text->file >= 0) {
        write_out(text);
    }
}
