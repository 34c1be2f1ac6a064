/* SPDX-License-Identifier: Apache-2.0
 *
 * See watchdog.h. Signal handlers and callers wake the thread by requests (platform/requests.h).
 *
 * No mutex: fork waits for nothing here, and a handler that forks interrupts nothing half done. The caller
 * that brings the state from NONE to BEGINS starts the thread, with signals held back; others wait for the outcome.
 */
#include "diagnostics/watchdog.h"

#include "diagnostics/report.h"
#include "diagnostics/rings.h"
#include "diagnostics/snapshot.h"
#include "diagnostics/tables.h"
#include "diagnostics/text.h"
#include "platform/clock.h"
#include "platform/pages.h"
#include "platform/requests.h"
#include "platform/stay_loaded.h"
#include "platform/threads.h"
#include <interlock/deadline.h>
#include <interlock/park.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* The room for a report, and for a thread with the stack of its wait. What is not written takes no memory. */
enum { TEXT_SIZE = 64 * 1024, THREAD_TEXT_SIZE = 16 * 1024 };

static const uint64_t PERIOD_NS = 100000000;

/* Requests. */
enum { WAKE = 1, REPORT = 2 };

/* Whether the process has the thread. */
enum { NONE, BEGINS, RUNS };

static struct ilk__requests requests;
static ILK_ATOMIC(uint32_t) state;
static ILK_ATOMIC(uint64_t) hang_limit_ns;
static ILK_ATOMIC(bool) samples_rings;
static int hang_signal; /* with the tables locked */
static struct sigaction action_before;

static bool runs(void) {
    /* WD1 relaxed: a number by itself, which RQ1 and RQ2 bring to a thread that sleeps. samples_rings: the mutex of the
     * tables orders it with the list of rings. The thread clears it before it locks them: a ring that it does not find
     * there begins later, and sees it cleared. */
    return ilk_atomic_load(&state, memory_order_relaxed) == RUNS;
}

/* In a child of fork the signal finds no thread. */
static void on_hang_signal(int number) {
    (void)number;
    if (runs()) {
        ilk__requests_post(&requests, REPORT);
    }
}

/* ---- Waits beyond the limit ---- */

/* One round's look at all waits. */
struct round {
    uint64_t now_ns;
    uint64_t late_ns; /* so much later than it was due: the process was stopped, or had no processor */
    uint64_t limit_ns;
};

/* How long the thread of the record has waited, less what the process was stopped meanwhile. `since_ns` is not after
 * the round. */
static uint64_t waited_for(const struct round *round, const struct ilk__record *record, uint64_t since_ns) {
    return round->now_ns - since_ns - (record->watched_wait_ns == since_ns ? record->stopped_ns : 0);
}

/* A guess, for the record may be changing: a wait that is news and beyond the limit. */
static bool may_be_beyond(const struct round *round, struct ilk__record *record) {
    const uint64_t since_ns = ilk__record_get(&record->waiting.since_ns);
    if (ilk__record_get(&record->waiting.address) == 0 || since_ns >= round->now_ns ||
        record->reported_wait_ns == since_ns) {
        return false;
    }
    if (record->watched_wait_ns != since_ns) {
        record->watched_wait_ns = since_ns;
        record->stopped_ns = 0;
    }
    const uint64_t waited_ns = waited_for(round, record, since_ns);
    record->stopped_ns += round->late_ns < waited_ns ? round->late_ns : waited_ns;
    return waited_for(round, record, since_ns) >= round->limit_ns;
}

/* Notes those of the snapshot that are, as reported. False: none. */
static bool note_waits_beyond(const struct round *round, const struct ilk__snapshot *snapshot) {
    bool any = false;
    for (uint32_t index = 0; index < snapshot->thread_count; index++) {
        const struct ilk__thread_copy *copy = &snapshot->threads[index];
        const uint64_t since_ns = ilk__record_get(&copy->record.waiting.since_ns);
        if (!copy->has_record || ilk__record_get(&copy->record.waiting.address) == 0 ||
            since_ns >= round->now_ns) {
            continue;
        }
        for (struct ilk__record *record = ilk__records_first(); record != NULL;
             record = ilk__record_next(record)) {
            if (ilk__record_thread(record) == copy->thread && record->reported_wait_ns != since_ns &&
                waited_for(round, record, since_ns) >= round->limit_ns) {
                record->reported_wait_ns = since_ns;
                any = true;
            }
        }
    }
    return any;
}

static void report_threads(const struct ilk__snapshot *snapshot, uint64_t limit_ns) {
    const size_t size = TEXT_SIZE + (size_t)snapshot->thread_count * THREAD_TEXT_SIZE;
    char *pages = ilk__pages_allocate(size);
    if (pages == NULL) {
        return;
    }
    char sentence[128];
    struct ilk__text text;
    ilk__text_begin(&text, sentence, sizeof sentence, -1);
    ilk__text_add(&text, "a thread has waited for more than %llu ms",
                  (unsigned long long)(limit_ns / 1000000));
    ilk__text_begin(&text, pages, size, -1);
    ilk__text_add(&text, "interlock: %s\n", sentence);
    ilk__snapshot_write_text(snapshot, &text);
    ilk__report_deliver(ILK_REPORT_HANG, sentence, pages);
    ilk__pages_give_back(pages, size);
}

/* Objects are copied only for a report: a round looks at threads. False: there was none. */
static bool report_waits_beyond(const struct round *round) {
    bool any = false;
    for (struct ilk__record *record = ilk__records_first(); record != NULL;
         record = ilk__record_next(record)) {
        any |= may_be_beyond(round, record);
    }
    struct ilk__snapshot snapshot;
    if (!any || !ilk__snapshot_take(&snapshot)) {
        return false;
    }
    const bool reports = note_waits_beyond(round, &snapshot);
    if (reports) {
        report_threads(&snapshot, round->limit_ns);
    }
    ilk__snapshot_give_back(&snapshot);
    return reports;
}

/* ---- The thread ---- */

static bool sample_rings(uint64_t now_ns) {
    if (!ilk_atomic_load(&samples_rings, memory_order_relaxed)) { /* WD1 */
        return false;
    }
    /* First: a ring that begins meanwhile sets it again (WD1). */
    ilk_atomic_store(&samples_rings, false, memory_order_relaxed); /* WD1 */
    if (ilk__rings_sample(now_ns)) {
        ilk_atomic_store(&samples_rings, true, memory_order_relaxed); /* WD1 */
    }
    return true;
}

static void run_watchdog(void *unused) {
    (void)unused;
    uint64_t due_ns = ILK_FOREVER;
    uint32_t asked = WAKE; /* the settings that it was started for */
    for (;;) {
        struct round round = {.now_ns = ilk__clock_now_ns()};
        const uint64_t after_ns = round.now_ns > due_ns ? round.now_ns - due_ns : 0;
        round.late_ns = after_ns > PERIOD_NS ? after_ns : 0;
        round.limit_ns = ilk_atomic_load(&hang_limit_ns, memory_order_relaxed); /* WD1 */
        if ((asked & REPORT) != 0) {
            (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_TEXT);
        }
        const bool samples = sample_rings(round.now_ns);
        const bool reports = (round.limit_ns != 0 && report_waits_beyond(&round)) || (asked & REPORT) != 0;
        /* A report does not make this thread late: the others waited as long. */
        const uint64_t from_ns = reports ? ilk__clock_now_ns() : round.now_ns;
        due_ns = round.limit_ns != 0 || samples ? from_ns + PERIOD_NS : ILK_FOREVER;
        asked = ilk__requests_take(&requests, due_ns);
    }
}

/* False: no thread. */
static bool begin_watchdog(void) {
    static ilk__thread thread;
    const struct ilk__thread_options options = {.name = "interlock-watch"};
    return ilk__requests_prepare(&requests) && ilk__thread_start(&thread, &options, run_watchdog, NULL);
}

static bool start_watchdog(void) {
    for (;;) {
        sigset_t before;
        ilk__signals_hold(&before);
        uint32_t seen = NONE;
        if (ilk_atomic_compare_exchange(&state, &seen, BEGINS, memory_order_relaxed,
                                        memory_order_relaxed)) { /* WD1 */
            seen = begin_watchdog() ? RUNS : NONE;
            ilk_atomic_store(&state, seen, memory_order_relaxed); /* WD1 */
            ilk_park_wake(&state, UINT32_MAX);
            ilk__signals_release(&before);
            return seen == RUNS;
        }
        ilk__signals_release(&before);
        if (seen == RUNS) {
            return true;
        }
        (void)ilk_park_wait(&state, BEGINS, ILK_FOREVER);
    }
}

/* ---- The calls ---- */

void ilk__watchdog_sample(void) {
    if (ilk_atomic_exchange(&samples_rings, true, memory_order_relaxed)) { /* WD1 */
        return;
    }
    if (start_watchdog()) {
        ilk__requests_post(&requests, WAKE);
    } else {
        ilk_atomic_store(&samples_rings, false, memory_order_relaxed); /* WD1: the next ring tries again */
    }
}

ilk_status ilk_set_hang_limit(uint64_t limit_ns) {
    ilk_atomic_store(&hang_limit_ns, limit_ns, memory_order_relaxed); /* WD1 */
    if (limit_ns != 0 && !start_watchdog()) {
        ilk_atomic_store(&hang_limit_ns, 0,
                         memory_order_relaxed); /* WD1: a later thread is for something else */
        return ILK_NOMEM;
    }
    ilk__requests_post(&requests, WAKE);
    return ILK_OK;
}

/* With the tables locked. False: the system has no such signal for it. */
static bool change_signal(int number) {
    struct sigaction before = {0};
    const struct sigaction action = {.sa_handler = on_hang_signal, .sa_flags = SA_RESTART};
    if (number != 0 && sigaction(number, &action, &before) != 0) {
        return false;
    }
    if (hang_signal != number) {
        if (hang_signal != 0) {
            (void)sigaction(hang_signal, &action_before, NULL);
        }
        action_before = before;
        hang_signal = number;
    }
    return true;
}

ilk_status ilk_set_hang_signal(int number) {
    if (number != 0 && !start_watchdog()) {
        return ILK_NOMEM;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    const bool is_changed = change_signal(number);
    ilk__tables_unlock(&before);
    return is_changed ? ILK_OK : ILK_INVALID;
}

/* ---- Fork ---- */

/* The child has no such thread until it asks for one: whatever its parent has asked for is forgotten. */
static void watchdog_after_fork_in_child(void) {
    ilk_atomic_store(&state, NONE, memory_order_relaxed);          /* WD1 */
    ilk_atomic_store(&hang_limit_ns, 0, memory_order_relaxed);     /* WD1 */
    ilk_atomic_store(&samples_rings, false, memory_order_relaxed); /* WD1 */
    ilk__requests_forget(&requests);
}

/* Every primitive links this file. */
__attribute__((constructor)) static void watchdog_begin(void) {
    ilk__stay_loaded();
    (void)pthread_atfork(NULL, NULL, watchdog_after_fork_in_child);
}
