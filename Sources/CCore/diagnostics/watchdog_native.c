/* SPDX-License-Identifier: Apache-2.0
 *
 * See watchdog.h. Signal handlers and callers wake the thread through a pipe.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif

#include "diagnostics/watchdog.h"

#include "diagnostics/report.h"
#include "diagnostics/rings.h"
#include "diagnostics/snapshot.h"
#include "diagnostics/text.h"
#include "platform/clock.h"
#include "platform/native.h"
#include "platform/pages.h"
#include "platform/threads.h"
#include <errno.h>
#include <fcntl.h>
#include <interlock/deadline.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PERIOD_MS = 100, HANG_TEXT_SIZE = 256 * 1024 };

/* What woke the thread: a byte in the pipe. */
enum { WAKE = 'w', REPORT = 'r' };

static ilk__native_mutex watchdog_mutex =
    ILK__NATIVE_MUTEX_INIT; /* guards what follows but for the atomics */
static bool has_watchdog;
static int hang_signal;
static struct sigaction action_before;
static ILK_ATOMIC(int) wake_pipe = -1; /* the end that is written */
static int read_pipe = -1;
static ILK_ATOMIC(uint64_t) hang_limit_ns;
static ILK_ATOMIC(bool) samples_rings;

static void send(char byte) {
    /* WD1 relaxed: a number by itself, set before the handler or the thread that uses it. samples_rings: the mutex of
     * the tables orders it with the list of rings. The thread clears it before it locks them: a ring that it does not
     * find there begins later, and sees it cleared. */
    const int file = ilk_atomic_load(&wake_pipe, memory_order_relaxed);
    const int error = errno;
    /* A full pipe has woken the thread already. */
    ssize_t written = file >= 0 ? write(file, &byte, 1) : 0;
    (void)written;
    errno = error;
}

static void on_hang_signal(int number) {
    (void)number;
    send(REPORT);
}

/* ---- The thread ---- */

static void report_waits_beyond(uint64_t limit_ns) {
    struct ilk__snapshot snapshot;
    if (!ilk__snapshot_take(&snapshot)) {
        return;
    }
    bool is_beyond = false;
    for (uint32_t index = 0; index < snapshot.thread_count; index++) {
        const struct ilk__thread_copy *copy = &snapshot.threads[index];
        const struct ilk__waiting *waiting = &copy->record.waiting;
        const uint64_t since_ns = ilk__record_get(&waiting->since_ns);
        /* A wait may have begun since the snapshot took the time. */
        const bool is_over = since_ns < snapshot.now_ns && snapshot.now_ns - since_ns >= limit_ns;
        if (!copy->has_record || ilk__record_get(&waiting->address) == 0 || !is_over) {
            continue;
        }
        for (struct ilk__record *record = ilk__records_first(); record != NULL;
             record = ilk__record_next(record)) {
            if (ilk__record_thread(record) == copy->thread && record->reported_wait_ns != since_ns) {
                record->reported_wait_ns = since_ns;
                is_beyond = true;
            }
        }
    }
    char *pages = is_beyond ? ilk__pages_allocate(HANG_TEXT_SIZE) : NULL;
    if (pages != NULL) {
        char sentence[128];
        struct ilk__text text;
        ilk__text_begin(&text, sentence, sizeof sentence, -1);
        ilk__text_add(&text, "a thread has waited for more than %llu ms",
                      (unsigned long long)(limit_ns / 1000000));
        ilk__text_begin(&text, pages, HANG_TEXT_SIZE, -1);
        ilk__text_add(&text, "interlock: %s\n", sentence);
        ilk__snapshot_write_text(&snapshot, &text);
        ilk__report_deliver(ILK_REPORT_HANG, sentence, pages);
        ilk__pages_give_back(pages, HANG_TEXT_SIZE);
    }
    ilk__snapshot_give_back(&snapshot);
}

static void read_requests(void) {
    char bytes[64];
    ssize_t length = read(read_pipe, bytes, sizeof bytes);
    if (length > 0 && memchr(bytes, REPORT, (size_t)length) != NULL) {
        (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_TEXT);
    }
}

static void run_watchdog(void *unused) {
    (void)unused;
    for (;;) {
        const uint64_t limit_ns = ilk_atomic_load(&hang_limit_ns, memory_order_relaxed); /* WD1 */
        const bool samples = ilk_atomic_load(&samples_rings, memory_order_relaxed);      /* WD1 */
        struct pollfd request = {.fd = read_pipe, .events = POLLIN};
        if (poll(&request, 1, limit_ns != 0 || samples ? PERIOD_MS : -1) > 0) {
            read_requests();
        }
        if (samples) {
            /* First: a ring that begins meanwhile sets it again (WD1). */
            ilk_atomic_store(&samples_rings, false, memory_order_relaxed); /* WD1 */
            if (ilk__rings_sample(ilk__clock_now_ns())) {
                ilk_atomic_store(&samples_rings, true, memory_order_relaxed); /* WD1 */
            }
        }
        if (limit_ns != 0) {
            report_waits_beyond(limit_ns);
        }
    }
}

#if defined(__APPLE__)
/* Not at once: a child that is forked in between and calls exec keeps the pipe open. */
static bool make_pipe(int ends[2]) {
    if (pipe(ends) != 0) {
        return false;
    }
    for (int end = 0; end < 2; end++) {
        (void)fcntl(ends[end], F_SETFL, O_NONBLOCK);
        (void)fcntl(ends[end], F_SETFD, FD_CLOEXEC);
    }
    return true;
}
#else
static bool make_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
}
#endif

/* With the mutex held. */
static bool start_watchdog(void) {
    if (has_watchdog) {
        return true;
    }
    int ends[2];
    if (!make_pipe(ends)) {
        return false;
    }
    read_pipe = ends[0];
    ilk_atomic_store(&wake_pipe, ends[1], memory_order_relaxed); /* WD1 */
    const struct ilk__thread_options options = {.name = "interlock-watch"};
    static ilk__thread thread;
    has_watchdog = ilk__thread_start(&thread, &options, run_watchdog, NULL);
    if (!has_watchdog) {
        ilk_atomic_store(&wake_pipe, -1, memory_order_relaxed); /* WD1 */
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    return has_watchdog;
}

/* ---- The calls ---- */

void ilk__watchdog_sample(void) {
    if (ilk_atomic_load(&samples_rings, memory_order_relaxed)) { /* WD1 */
        return;
    }
    ilk__native_mutex_lock(&watchdog_mutex);
    ilk_atomic_store(&samples_rings, true, memory_order_relaxed); /* WD1 */
    (void)start_watchdog();
    ilk__native_mutex_unlock(&watchdog_mutex);
    send(WAKE);
}

ilk_status ilk_set_hang_limit(uint64_t limit_ns) {
    ilk__native_mutex_lock(&watchdog_mutex);
    ilk_atomic_store(&hang_limit_ns, limit_ns, memory_order_relaxed); /* WD1 */
    const bool is_watched = limit_ns == 0 || start_watchdog();
    ilk__native_mutex_unlock(&watchdog_mutex);
    send(WAKE);
    return is_watched ? ILK_OK : ILK_NOMEM;
}

ilk_status ilk_set_hang_signal(int number) {
    ilk__native_mutex_lock(&watchdog_mutex);
    ilk_status status = ILK_OK;
    struct sigaction before = {0};
    struct sigaction action = {.sa_handler = on_hang_signal, .sa_flags = SA_RESTART};
    if (number != 0 && !start_watchdog()) {
        status = ILK_NOMEM;
    } else if (number != 0 && sigaction(number, &action, &before) != 0) {
        status = ILK_INVALID;
    } else {
        if (hang_signal != 0 && hang_signal != number) {
            (void)sigaction(hang_signal, &action_before, NULL);
        }
        if (hang_signal != number) {
            action_before = before;
        }
        hang_signal = number;
    }
    ilk__native_mutex_unlock(&watchdog_mutex);
    return status;
}

/* ---- Fork ---- */

static void watchdog_before_fork(void) {
    ilk__native_mutex_lock(&watchdog_mutex);
}

static void watchdog_after_fork(void) {
    ilk__native_mutex_unlock(&watchdog_mutex);
}

/* The child has no such thread, and the pipe is its parent's. It has them again with its next request. */
static void watchdog_after_fork_in_child(void) {
    if (has_watchdog) {
        has_watchdog = false;
        (void)close(ilk_atomic_load(&wake_pipe, memory_order_relaxed)); /* WD1 */
        (void)close(read_pipe);
        ilk_atomic_store(&wake_pipe, -1, memory_order_relaxed);        /* WD1 */
        ilk_atomic_store(&samples_rings, false, memory_order_relaxed); /* WD1 */
    }
    ilk__native_mutex_unlock(&watchdog_mutex);
}

__attribute__((constructor)) static void watchdog_watch_fork(void) {
    (void)pthread_atfork(watchdog_before_fork, watchdog_after_fork, watchdog_after_fork_in_child);
}
