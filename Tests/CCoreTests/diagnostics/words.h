/* SPDX-License-Identifier: Apache-2.0
 *
 * A report with the same words in every run: what differs has a fixed word, ADDRESS, ID or TIME. Of stacks the frames
 * of `kept_frames` stay, which the test defines: below them is the test's support.
 */
#ifndef INTERLOCK_TESTS_DIAGNOSTICS_WORDS_H
#define INTERLOCK_TESTS_DIAGNOSTICS_WORDS_H

#include "diagnostics/reports.h"
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Functions of the test; NULL ends them. */
extern const char *const kept_frames[];

/* "      0  function+0x12 (program+0x3456)" */
static inline bool is_dropped_frame(const char *line) {
    if (strncmp(line, "      ", 6) != 0 || !isdigit((unsigned char)line[6])) {
        return false;
    }
    const char *function = strstr(line, "  ") + 6;
    while (isdigit((unsigned char)*function) || *function == ' ') {
        function++;
    }
    for (unsigned index = 0; kept_frames[index] != NULL; index++) {
        const size_t length = strlen(kept_frames[index]);
        if (strncmp(function, kept_frames[index], length) == 0 && function[length] == '+') {
            return false;
        }
    }
    return true;
}

static inline const char *after_digits(const char *text) {
    while (isdigit((unsigned char)*text)) {
        text++;
    }
    return text;
}

static inline bool is_time(const char *after) {
    static const char *const units[] = {" ns", " us", " ms", " s"};
    for (unsigned index = 0; index < sizeof units / sizeof *units; index++) {
        const size_t length = strlen(units[index]);
        if (strncmp(after, units[index], length) == 0 && !isalnum((unsigned char)after[length])) {
            return true;
        }
    }
    return false;
}

/* What varies at `*text`, which is moved behind it: its word, or NULL. */
static inline const char *take_varying(const char **text) {
    const char *after;
    if (strncmp(*text, "0x", 2) == 0) {
        *text += 2 + strspn(*text + 2, "0123456789abcdef");
        return "ADDRESS";
    }
    if (strncmp(*text, "process ", 8) == 0 && (after = after_digits(*text + 8)) != *text + 8) {
        *text = after;
        return "process ID";
    }
    if (**text == '(' && (after = after_digits(*text + 1)) != *text + 1 && *after == ')') {
        *text = after + 1;
        return "(ID)";
    }
    if (isdigit((unsigned char)**text) && is_time(after = after_digits(*text))) {
        *text = after + 1 + strspn(after + 1, "nums");
        return "TIME";
    }
    return NULL;
}

/* ThreadSanitizer has threads of its own, with the name of the program and without a record: as ours, which is
 * first. */
static inline bool has_programs_name(const char *line) {
    return strncmp(line, "thread \"words_test\" (", 21) == 0;
}

static inline void put_words(const char *text, FILE *file) {
    unsigned named = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        const char *end = text + length + (text[length] == '\n');
        const bool is_sanitizers = has_programs_name(text) && named++ > 0 && *end != ' ';
        const bool is_dropped = is_sanitizers || is_dropped_frame(text);
        while (text < end && !is_dropped) {
            const char *word = take_varying(&text);
            word != NULL ? fputs(word, file) : fputc(*text++, file);
        }
        text = end;
    }
}

/* What `body` prints on standard error is `expected`; it ends with `signal`. */
static inline void expect_words(void (*body)(void *unused), int signal, const char *expected) {
    static char output[64 * 1024], words[64 * 1024];
    const int status = child_run(body, NULL, output, sizeof output);
    FILE *file = fmemopen(words, sizeof words, "w");
    check(file != NULL);
    put_words(output, file);
    fclose(file);
    check_text(words, expected);
    check(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

#endif
