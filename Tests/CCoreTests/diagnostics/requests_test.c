/* SPDX-License-Identifier: Apache-2.0
 *
 * Wake requests that a signal handler posts at any moment of the sleeper's work.
 */
#include "platform/requests.h"
#include "support/stepping.h"
#include <interlock/deadline.h>

enum { FIRST = 1, SECOND = 2 };

static struct ilk__requests requests;
static uint32_t taken, posted;

static void post_first(void *unused) {
    taken = 0;
    posted = FIRST;
    ilk__requests_post(&requests, FIRST);
}
static void take(void *unused) {
    taken = ilk__requests_take(&requests, ILK_FOREVER);
}
static void post_second(void *unused) {
    posted |= SECOND;
    ilk__requests_post(&requests, SECOND);
}

/* The deadline has passed: what is not there now is lost. */
static void check_that_all_are_taken(void *unused) {
    taken |= ilk__requests_take(&requests, 0);
    check_equal(taken, posted);
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal */
TEST(no_request_is_lost_whatever_its_handler_interrupts) {
    skip_unless_stepping();
    check(ilk__requests_prepare(&requests));
    const struct stepped stepped = {post_first, take, post_second, check_that_all_are_taken};
    (void)step_everywhere(&stepped, NULL);
}
