/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnosis beside all others, as a fault: a thread switches it on and off, and asks for all that it tells. Others add
 * orders to the graph meanwhile, and none that may deadlock; no crew holds two locks at a time. So each report of an
 * order is false, but the one that the first thread asks for.
 */
#include "soak.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static _Thread_local int expected_reports;

static void check_report(const ilk_report *report, void *unused) {
    (void)unused;
    if (report->kind != ILK_REPORT_INVERSION || expected_reports-- <= 0) {
        failed("a report", report->text);
    }
}

static void take_both(ilk_rwlock *first, ilk_rwlock *second) {
    ilk_rwlock_write_lock(first);
    ilk_rwlock_write_lock(second);
    ilk_rwlock_write_unlock(second);
    ilk_rwlock_write_unlock(first);
}

/* Each time between other locks, at the same addresses. */
static void invert_orders(void) {
    ilk_rwlock one, other;
    ilk_diagnose(ILK_DIAGNOSE_ORDER | chance(ILK_DIAGNOSE_ALL + 1));
    ilk_rwlock_init(&one);
    ilk_rwlock_init(&other);
    take_both(&one, &other);
    expected_reports = 1;
    take_both(&other, &one);
    take_both(&one, &other);
    expect(expected_reports == 0 || is_chosen(fault_of_memory_refused)); /* without memory it knows less */
    expected_reports = 0;
    ilk_rwlock_destroy(&one);
    ilk_rwlock_destroy(&other);
}

/* From a lock to one of a higher number. Not for reading, for an upgrade after the second would wait for a reader. */
static struct {
    ilk_rwlock lock;
    ilk_mutex mutex;
} ordered[6];

static void take_in_order(void) {
    ilk_rwlock end; /* with its edges it ends each time, and the next begins at its address */
    const uint32_t first = chance(5);
    const uint32_t second = first + 1 + chance(5 - first);
    const bool upgrades = chance(2) == 0;
    ilk_rwlock_init(&end);
    if (upgrades) {
        ilk_rwlock_upgradable_lock(&ordered[first].lock);
    } else {
        ilk_rwlock_write_lock(&ordered[first].lock);
    }
    ilk_mutex_lock(&ordered[second].mutex);
    if (upgrades) {
        ilk_rwlock_upgrade(&ordered[first].lock);
    }
    ilk_rwlock_read_lock(&end);
    ilk_rwlock_read_unlock(&end);
    ilk_mutex_unlock(&ordered[second].mutex);
    ilk_rwlock_write_unlock(&ordered[first].lock);
    ilk_rwlock_destroy(&end);
}

static void init_ordered(void) {
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        ilk_rwlock_init(&ordered[i].lock);
        ilk_mutex_init(&ordered[i].mutex, chance(2) == 0);
        /* While diagnosis is off too. */
        const bool is_watched = ilk_rwlock_observe(&ordered[i].lock, ILK_DIAGNOSE_ORDER) == ILK_OK &&
                                ilk_mutex_observe(&ordered[i].mutex, ILK_DIAGNOSE_ORDER) == ILK_OK;
        expect(is_watched || is_chosen(fault_of_memory_refused));
    }
}

void *diagnosis_keep_order(void *unused) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_ordered);
    while (is_disturbing) {
        for (uint32_t i = chance(1000); i > 0; i--) {
            take_in_order();
        }
        usleep(chance(2000));
    }
    return unused;
}

static void check_figures(void) {
    static ilk_figures figures[64];
    size_t objects = ilk_figures_snapshot(figures, 64);
    for (size_t i = 0; i < objects && i < 64; i++) {
        expect(figures[i].object != NULL && strnlen(figures[i].name, ILK_NAME_SIZE) < ILK_NAME_SIZE);
        expect(i == 0 || figures[i].wait.total_ns <= figures[i - 1].wait.total_ns);
    }
}

static void check_name(void) {
    static int named;
    char name[ILK_NAME_SIZE];
    ilk_status status = ilk_set_name(&named, "soak");
    expect(status == ILK_OK || is_chosen(fault_of_memory_refused));
    expect(ilk_get_name(&named, name, sizeof name) == (status == ILK_OK));
    expect(status != ILK_OK || strcmp(name, "soak") == 0);
    expect(ilk_set_name(&named, NULL) == ILK_OK);
}

static void write_diagnosis(void) {
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ilk_status status = ilk_write_diagnosis(file, (ilk_diagnosis_form)chance(ILK_AS_PAGE + 1));
    expect(status == ILK_OK);
    close(file);
}

void *diagnosis_run(void *unused) {
    static void (*const asks[])(void) = {invert_orders, check_figures, ilk_figures_reset, check_name,
                                         write_diagnosis};
    chance_begin(shared->seed);
    ilk_set_report_handler(check_report, NULL);
    while (is_disturbing) {
        ilk_diagnose(chance(ILK_DIAGNOSE_ALL + 1));
        for (uint32_t i = chance(20); i > 0; i--) {
            asks[chance(sizeof asks / sizeof *asks)]();
            usleep(chance(2000));
        }
        happens(fault_of_diagnosis);
        usleep(chance(20000));
    }
    ilk_diagnose(0);
    ilk_set_report_handler(NULL, NULL);
    return unused;
}
