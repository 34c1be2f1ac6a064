/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with something in every section of a report: two threads in a cycle, waits and holds, a ring whose depth
 * changed, two opposite orders, more objects than the viewer shows at first. It writes one to the file that is named
 * first, as JSON, and to the second, as a page. Its names are markup. viewer_browser.py runs it.
 */
#include <interlock/diagnostics.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MILLISECONDS(count) (UINT64_C(1000000) * (count))
#define OTHERS 25

static ilk_mutex accounts, orders, others[OTHERS];
static ilk_rwlock prices;
static pthread_barrier_t both;

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "viewer_report: %s\n", what);
        exit(1);
    }
}

/* Waits for what another thread is about to do: a sleep between two looks, as long as it takes. */
static void rest(void) {
    require(usleep(1000) == 0, "usleep");
}

static void say_nothing(const ilk_report *report, void *context) {
    (void)report;
    (void)context;
}

static void make_objects(void) {
    ilk_mutex_init(&accounts, false);
    ilk_mutex_init(&orders, false);
    ilk_rwlock_init(&prices);
    require(ilk_set_name(&accounts, "<img src=x onerror=alert(1)>") == ILK_OK, "no name");
    require(ilk_set_name(&orders, "</script><script>alert(2)</script>") == ILK_OK, "no name");
    require(ilk_set_name(&prices, "prices & \"<b>more</b>\"") == ILK_OK, "no name");
    for (int index = 0; index < OTHERS; index++) {
        ilk_mutex_init(&others[index], false);
        ilk_mutex_lock(&others[index]);
        ilk_mutex_unlock(&others[index]);
    }
}

static void lock_prices_under_accounts(void) {
    ilk_mutex_lock(&accounts);
    ilk_rwlock_write_lock(&prices);
    ilk_rwlock_write_unlock(&prices);
    ilk_mutex_unlock(&accounts);
}

static void lock_accounts_under_prices(void) {
    ilk_rwlock_read_lock(&prices);
    ilk_mutex_lock(&accounts);
    ilk_mutex_unlock(&accounts);
    ilk_rwlock_read_unlock(&prices);
}

static void *give_up_reading(void *unused) {
    require(ilk_rwlock_read_lock_until(&prices, ilk_deadline_in_ns(MILLISECONDS(2))) == ILK_TIMEDOUT, "read");
    return unused;
}

static void wait_and_hold(void) {
    pthread_t reader;
    for (int round = 0; round < 50; round++) {
        lock_prices_under_accounts();
        lock_accounts_under_prices();
    }
    ilk_rwlock_write_lock(&prices);
    require(pthread_create(&reader, NULL, give_up_reading, NULL) == 0, "no thread");
    require(pthread_join(reader, NULL) == 0, "no end");
    ilk_rwlock_write_unlock(&prices);
}

static uint64_t samples_of(const void *ring) {
    static ilk_figures figures[OTHERS + 16];
    const size_t count = ilk_figures_snapshot(figures, sizeof figures / sizeof *figures);
    for (size_t index = 0; index < count; index++) {
        if (figures[index].object == ring) {
            return figures[index].samples;
        }
    }
    return 0;
}

static void fill_a_ring(void) {
    static ilk_mpmc *ring;
    require(ilk_mpmc_create(&ring, 3, sizeof(int)) == ILK_OK, "no ring");
    require(ilk_set_name(ring, "<svg onload=alert(3)>") == ILK_OK, "no name");
    for (int element = 0; element < 3; element++) {
        require(ilk_mpmc_push_until(ring, &element, sizeof element, ILK_FOREVER) == ILK_OK, "push");
        for (const uint64_t before = samples_of(ring); samples_of(ring) == before; rest()) {
        }
    }
    const int more = 3;
    require(ilk_mpmc_push_until(ring, &more, sizeof more, ilk_deadline_in_ns(MILLISECONDS(2))) ==
                ILK_TIMEDOUT,
            "full");
}

static void *hold_orders(void *unused) {
    (void)pthread_setname_np(pthread_self(), "<b>clerk</b>");
    ilk_mutex_lock(&orders);
    (void)pthread_barrier_wait(&both);
    ilk_mutex_lock(&accounts);
    return unused;
}

static void *hold_accounts(void *unused) {
    (void)pthread_setname_np(pthread_self(), "<i>teller</i>");
    ilk_mutex_lock(&accounts);
    (void)pthread_barrier_wait(&both);
    ilk_mutex_lock(&orders);
    return unused;
}

static bool is_wedged(void) {
    static char text[256 * 1024];
    FILE *file = tmpfile();
    require(file != NULL, "no file");
    require(ilk_write_diagnosis(fileno(file), ILK_AS_TEXT) == ILK_OK, "no report");
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return strstr(text, "cycle 1: ") != NULL;
}

static void write_to(const char *path, ilk_diagnosis_form form) {
    FILE *file = fopen(path, "w");
    require(file != NULL && ilk_write_diagnosis(fileno(file), form) == ILK_OK, path);
}

int main(int count, char **arguments) {
    require(count == 3, "usage: viewer_report JSON PAGE");
    pthread_t clerk, teller;
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_set_report_handler(say_nothing, NULL);
    make_objects();
    wait_and_hold();
    fill_a_ring();
    require(pthread_barrier_init(&both, NULL, 2) == 0, "no barrier");
    require(pthread_create(&clerk, NULL, hold_orders, NULL) == 0, "no thread");
    require(pthread_create(&teller, NULL, hold_accounts, NULL) == 0, "no thread");
    while (!is_wedged()) {
        rest();
    }
    write_to(arguments[1], ILK_AS_JSON);
    write_to(arguments[2], ILK_AS_PAGE);
    _exit(0); /* two threads wait for ever */
}
