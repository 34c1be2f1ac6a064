/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnosis in the model: reports are counted, for scenarios to judge; stacks and names are empty, and of the
 * figures there is the count of waits; a thread's record is not given back, for a modelled thread has no exit but the
 * scenario's end.
 */
#include "diagnosis.h"

#include <diagnostics/demangle.h>
#include <diagnostics/figures.h>
#include <diagnostics/records.h>
#include <diagnostics/report.h>
#include <diagnostics/stack.h>
#include <diagnostics/thread_list.h>
#include <diagnostics/watchdog.h>

static struct ex_reports reports;

struct ex_reports *ex_reports(void) {
    return &reports;
}

void ilk__report_inversion(const struct ilk__inversion *inversion) {
    reports.inversions++;
    reports.latest_count = inversion->count;
}

void ilk__report_self_wait(const void *object, ilk_object_kind kind, const char *held, const char *asked,
                           const void *taken_at, const void *site, bool is_certain) {
    (void)object, (void)kind, (void)held, (void)asked, (void)taken_at, (void)site, (void)is_certain;
    reports.self_waits++;
}

void ilk__report_ended_search(uint32_t thread) {
    (void)thread;
    reports.ended_searches++;
}

void ilk__demangle_prepare(void) {}

uint32_t ilk__stack_capture(void **frames, const void *site) {
    (void)frames, (void)site;
    return 0;
}

const void *ilk__stack_line(const void *site) {
    return site;
}

void ilk__thread_name(uint32_t thread, char *name, uint32_t size) {
    (void)thread, (void)size;
    name[0] = '\0';
}

void ilk__record_at_exit(struct ilk__record *record) {
    (void)record;
}

void ilk__watchdog_sample(void) {}

/* Counts for people, without a protocol, and many words: one stands for all. */
void ilk__figures_clear(struct ilk__counters *counters) {
    ilk_atomic_store(&counters->wait.count, 0, memory_order_relaxed); /* FG1 */
}
void ilk__figures_add_wait(struct ilk__counters *counters, uint64_t wait_ns) {
    (void)wait_ns;
    ilk_atomic_fetch_add(&counters->wait.count, 1, memory_order_relaxed); /* FG1 */
}
bool ilk__figures_add_hold(struct ilk__counters *counters, uint64_t hold_ns) {
    (void)counters, (void)hold_ns;
    return false;
}
void ilk__figures_set_longest_holder(struct ilk__counters *counters, uint32_t thread, const char name[16],
                                     void *const *stack, uint32_t depth) {
    (void)counters, (void)thread, (void)name, (void)stack, (void)depth;
}
