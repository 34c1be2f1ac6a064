/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of diagnosis: hang_test runs it with INTERLOCK_DIAGNOSTICS in its environment.
 *   diagnosed orders     takes two locks in both orders, and ends
 *   diagnosed deadlock   two threads wait for each other for ever; prints "wedged" when both do
 *   diagnosed daemon     closes all descriptors but the first three, prints "wedged", and sleeps
 *   diagnosed busy       takes a lock in a lock, and ends
 *   diagnosed forks      does the same, and has a child that ends after it; prints its id
 */
#include "support/test.h"
#include <interlock/diagnostics.h>
#include <interlock/mutex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* LeakSanitizer asks: as a set-user-ID program it may not look at itself. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
    return getuid() != geteuid();
}

static ilk_mutex accounts = ILK_MUTEX_INIT;
static ilk_mutex orders = ILK_MUTEX_INIT;
static struct stage both = STAGE_INIT;

__attribute__((noinline)) static void lock_orders(void) {
    ilk_mutex_lock(&orders);
    ilk_mutex_lock(&accounts);
    ilk_mutex_unlock(&accounts);
    ilk_mutex_unlock(&orders);
}

__attribute__((noinline)) static void lock_accounts(void) {
    ilk_mutex_lock(&accounts);
    ilk_mutex_lock(&orders);
    ilk_mutex_unlock(&orders);
    ilk_mutex_unlock(&accounts);
}

static void hold_orders(void *unused) {
    (void)pthread_setname_np(pthread_self(), "clerk");
    ilk_mutex_lock(&orders);
    stage_reach(&both, 1);
    ilk_mutex_lock(&accounts);
}

/* The main thread is no struct thread: its kernel id is the process's. */
static void print_when_wedged(void *clerk) {
    static struct thread teller = {.life = STAGE_INIT};
    teller.kernel_id = getpid();
    thread_await_sleep(&teller);
    thread_await_sleep(clerk);
    puts("wedged");
    fflush(stdout);
    pause();
}

static void be_busy(void) {
    ilk_mutex_lock(&accounts);
    check_equal(ilk_mutex_lock_until(&orders, ilk_deadline_in_ns(0)), ILK_OK);
    ilk_mutex_unlock(&orders);
    ilk_mutex_unlock(&accounts);
}

/* The child exits once the end of its parent has closed the pipe. */
static void leave_a_child(void) {
    int ends[2];
    char byte;
    check_equal(pipe(ends), 0);
    printf("parent %d\n", (int)getpid());
    fflush(stdout);
    if (fork() == 0) {
        close(ends[1]);
        check_equal(read(ends[0], &byte, 1), 0);
    }
}

int main(int argument_count, char **arguments) {
    const char *what = argument_count > 1 ? arguments[1] : "";
    (void)ilk_set_name(&accounts, "accounts");
    (void)ilk_set_name(&orders, "orders");
    if (strcmp(what, "orders") == 0) {
        lock_orders();
        lock_accounts();
    } else if (strcmp(what, "deadlock") == 0) {
        static struct thread clerk, watcher;
        (void)pthread_setname_np(pthread_self(), "teller");
        ilk_mutex_lock(&accounts);
        thread_start(&clerk, hold_orders, NULL);
        stage_await(&both, 1);
        thread_start(&watcher, print_when_wedged, &clerk);
        ilk_mutex_lock(&orders);
    } else if (strcmp(what, "daemon") == 0) {
        for (int file = 3; file < 256; file++) {
            (void)close(file);
        }
        puts("wedged");
        fflush(stdout);
        for (;;) {
            pause();
        }
    } else if (strcmp(what, "busy") == 0) {
        be_busy();
    } else if (strcmp(what, "forks") == 0) {
        be_busy();
        leave_a_child();
    }
    return 0;
}
