/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a thread's record, through a pthread key that the process makes when diagnosis first needs one.
 * Without a key left, a thread's record stays its own after its end.
 */
#include "diagnostics/records.h"
#include <pthread.h>
#include <stddef.h>

static pthread_key_t record_key;
static bool record_key_exists;
static pthread_once_t record_key_once = PTHREAD_ONCE_INIT;

static void run_release(void *record) {
    ilk__record_release(record);
}

static void make_record_key(void) {
    record_key_exists = pthread_key_create(&record_key, run_release) == 0;
}

void ilk__record_at_exit(struct ilk__record *record) {
    (void)pthread_once(&record_key_once, make_record_key);
    if (record_key_exists) {
        (void)pthread_setspecific(record_key, record);
    }
}
