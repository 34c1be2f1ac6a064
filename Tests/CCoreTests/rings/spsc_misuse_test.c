/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of ilk_spsc, call by call.
 */
#include "rings/spsc_face.h"

#include "rings/ring_misuse.h"

static void release_too_many(void *context) {
    ilk_spsc *ring = make_with(1);
    show(ring, 1);
    ilk_spsc_release(ring, 2);
}

static void release_popped(void *context) {
    ilk_spsc *ring = make_with(3);
    show(ring, 2);
    ilk_spsc_release(ring, 1);
    expect_pop(ring, element); /* ends what was shown */
    ilk_spsc_release(ring, 1);
}

static void commit_twice(void *context) {
    ilk_spsc *ring = make(4);
    reserve(ring, 2);
    ilk_spsc_commit(ring, 1); /* ends the reservation */
    ilk_spsc_commit(ring, 1);
}
/* contract: ilk_spsc_commit, ilk_spsc_count, ilk_spsc_destroy, ilk_spsc_peek, ilk_spsc_release */
TEST(spsc_misuse_is_reported) {
    static const struct misuse table[] = {
        {commit_unreserved, "ilk_spsc_commit", "1 elements; 0 slots are reserved"},
        {commit_too_many, "ilk_spsc_commit", "3 elements; 2 slots are reserved"},
        {commit_twice, "ilk_spsc_commit", "1 elements; 0 slots are reserved"},
        {release_too_many, "ilk_spsc_release", "2 elements; 1 have been shown"},
        {release_unshown, "ilk_spsc_release", "2 elements; 1 have been shown"},
        {release_popped, "ilk_spsc_release", "1 elements; 0 have been shown"},
        {destroy_reserved, "ilk_spsc_destroy", "2 reserved slots"},
        {destroy_under_a_consumer, "ilk_spsc_destroy", "while the consumer waits"},
        {destroy_under_a_producer, "ilk_spsc_destroy", "while the producer waits"},
    };
    EXPECT_ALL(wrong_sizes);
    EXPECT_ALL(table);
}

/* ---- Beside the thread's own access in place ---- */

/* Two of four slots reserved or two elements shown. `context` is not NULL: and then closed. */
static ilk_spsc *in_use(const void *context, void (*use)(ilk_spsc *ring, size_t count)) {
    ilk_spsc *ring = make_with(2);
    use(ring, 2);
    if (context != NULL) {
        ilk_spsc_close(ring);
    }
    return ring;
}

static void push_while_reserved(void *context) {
    (void)!ilk_spsc_try_push(in_use(context, reserve), &element, sizeof element);
}

static void push_many_while_reserved(void *context) {
    const item elements[2] = {1, 2};
    (void)!ilk_spsc_try_push_many(in_use(context, reserve), elements, 2, sizeof *elements);
}

static void push_until_while_reserved(void *context) {
    (void)!ilk_spsc_push_until(in_use(context, reserve), &element, sizeof element, ILK_FOREVER);
}

static void push_while_reserved_anew(void *context) {
    ilk_spsc *ring = in_use(context, reserve);
    reserve(ring, 1);
    (void)!ilk_spsc_try_push(ring, &element, sizeof element);
}

static void pop_while_shown(void *context) {
    item out;
    (void)!ilk_spsc_try_pop(in_use(context, show), &out, sizeof out);
}

static void pop_many_while_shown(void *context) {
    item out[2];
    (void)!ilk_spsc_try_pop_many(in_use(context, show), out, 2, sizeof *out);
}

static void pop_until_while_shown(void *context) {
    item out;
    (void)!ilk_spsc_pop_until(in_use(context, show), &out, sizeof out, 0);
}

static void pop_while_shown_anew(void *context) {
    ilk_spsc *ring = in_use(context, show);
    show(ring, 1);
    item out;
    (void)!ilk_spsc_try_pop(ring, &out, sizeof out);
}

static void destroy_shown(void *context) {
    ilk_spsc_destroy(in_use(context, show));
}

static void push_while_all_is_reserved(void *context) {
    ilk_spsc *ring = make(4);
    reserve(ring, 4);
    (void)!ilk_spsc_try_push(ring, &element, sizeof element);
}
/* contract: ilk_spsc_commit, ilk_spsc_destroy, ilk_spsc_peek, ilk_spsc_release, ilk_spsc_reserve */
/* contract: spsc.F */
TEST(spsc_push_or_pop_beside_its_own_access_in_place_is_reported) {
    static const struct misuse table[] = {
        {push_while_reserved, "ilk_spsc_try_push", "a push while a reservation of 2 slots is open"},
        {push_many_while_reserved, "ilk_spsc_try_push_many", "while a reservation of 2 slots is open"},
        {push_until_while_reserved, "ilk_spsc_push_until", "while a reservation of 2 slots is open"},
        {push_while_reserved_anew, "ilk_spsc_try_push", "while a reservation of 1 slots is open"},
        {push_while_all_is_reserved, "ilk_spsc_try_push", "while a reservation of 4 slots is open"},
        {pop_while_shown, "ilk_spsc_try_pop", "a pop while 2 elements are shown and not released"},
        {pop_many_while_shown, "ilk_spsc_try_pop_many", "while 2 elements are shown"},
        {pop_until_while_shown, "ilk_spsc_pop_until", "while 2 elements are shown"},
        {pop_while_shown_anew, "ilk_spsc_try_pop", "while 1 elements are shown"},
        {destroy_shown, "ilk_spsc_destroy", "with 2 elements shown and not released"},
    };
    EXPECT_ALL(table);
    /* Closed too: misuse does not depend on another thread's close. */
    static int closed;
    expect_all_misuse(table, sizeof table / sizeof *table, &closed);
}
