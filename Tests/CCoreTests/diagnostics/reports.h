/* SPDX-License-Identifier: Apache-2.0
 *
 * A handler that keeps the reports of a test, and the diagnosis as text.
 */
#ifndef INTERLOCK_TESTS_DIAGNOSTICS_REPORTS_H
#define INTERLOCK_TESTS_DIAGNOSTICS_REPORTS_H

#include "support/test.h"
#include <interlock/diagnostics.h>
#include <interlock/mutex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    unsigned count;
    ilk_report_kind kind;
    char sentence[1024];
    char text[8192];
} reports;

static inline void keep_report(const ilk_report *report, void *context) {
    reports.count++;
    reports.kind = report->kind;
    snprintf(reports.sentence, sizeof reports.sentence, "%s", report->sentence);
    snprintf(reports.text, sizeof reports.text, "%s", report->text);
}

/* Watches orders from here on, and keeps what is reported. */
static inline void begin_reports(void) {
    memset(&reports, 0, sizeof reports);
    ilk_set_report_handler(keep_report, NULL);
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
}

/* What is in `text` where `format` says so; fails with both. */
static inline void check_text(const char *text, const char *expected) {
    if (strcmp(text, expected) != 0) {
        fprintf(stderr, "expected: %s\ngot:      %s\n", expected, text);
        check_failed(__FILE__, __LINE__, "the text is as expected");
    }
}

static inline void lock_both(ilk_mutex *first, ilk_mutex *second) {
    ilk_mutex_lock(first);
    ilk_mutex_lock(second);
    ilk_mutex_unlock(second);
    ilk_mutex_unlock(first);
}

/* The diagnosis, as ilk_write_diagnosis writes it. */
static inline const char *diagnosis(ilk_diagnosis_form form) {
    static char text[256 * 1024];
    FILE *file = tmpfile();
    check(file != NULL);
    check_equal(ilk_write_diagnosis(fileno(file), form), ILK_OK);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static inline void check_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fprintf(stderr, "expected \"%s\" in:\n%s\n", part, text);
        check_failed(__FILE__, __LINE__, "the text contains it");
    }
}

#endif
