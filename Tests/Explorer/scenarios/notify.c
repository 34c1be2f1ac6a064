/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings' notify hook, <interlock/notify.h>: after an arm that answered true, the hook is called when
 * something comes or the ring closes. The clients loop as the header shows, and sleep on a word that the
 * hook sets, so that a call that never comes ends in deadlock. The hook reads plain memory that its
 * installer wrote: it must be ordered after the arm.
 *
 * A call that was made before the arm went up counts for nothing: a client counts them in the
 * moment in which arm answers, and sleeps until there is one more. The arm goes up in arm's last atomic step, and the
 * explorer changes threads only before such steps, so that no call comes between the two.
 */
#include "../explorer.h"
#include <interlock/inline/fence.h>
#include <interlock/mpmc.h>
#include <interlock/park.h>
#include <interlock/spsc.h>

/* What a hook's context points to. */
struct bell {
    ILK_ATOMIC(uint32_t) rung; /* the number of the last call that is over */
    uint32_t calls;            /* how many have begun; the explorer's own book, no part of what is explored */
    uint32_t installed;
    ilk_ring_event event;
};

static struct {
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    struct bell bell;
    uint32_t popped;
    unsigned arming; /* a bit for each thread that is in an arm call */
    bool refused;    /* the one arm of the execution answered false */
} s;

static void begin(void) {
    s.bell = (struct bell){.rung = 0};
    s.popped = 0;
    s.arming = 0;
    s.refused = false;
    s.spsc = NULL;
    s.mpmc = NULL;
    ilk__membarrier_works = true;
}
static void setup_spsc(void) {
    begin();
    ex_assert(ilk_spsc_create(&s.spsc, 1, sizeof(uint64_t)) == ILK_OK);
}
static void setup_spsc_2(void) {
    begin();
    ex_assert(ilk_spsc_create(&s.spsc, 2, sizeof(uint64_t)) == ILK_OK);
}
static void setup_spsc_refused(void) {
    setup_spsc();
    ilk__membarrier_works = false;
}
static void setup_mpmc(void) {
    begin();
    ex_assert(ilk_mpmc_create(&s.mpmc, 1, sizeof(uint64_t)) == ILK_OK);
}
static void setup_mpmc_2(void) {
    begin();
    ex_assert(ilk_mpmc_create(&s.mpmc, 2, sizeof(uint64_t)) == ILK_OK);
}
static void setup_mpmc_refused(void) {
    setup_mpmc();
    ilk__membarrier_works = false;
}
static void check(void) {
    ilk_spsc_destroy(s.spsc);
    ilk_mpmc_destroy(s.mpmc);
}

static void ring_bell(void *context, ilk_ring_event event) {
    struct bell *bell = context;
    const uint32_t number = ++bell->calls;
    ex_expect((s.arming >> ex_thread_index() & 1) == 0, "the hook runs on a thread that is in an arm call");
    ilk_plain_read(&bell->installed, sizeof bell->installed);
    ex_assert(bell->installed == 1);
    ex_expect(event == bell->event, "the hook was told of the wrong side");
    uint32_t rung = ilk_atomic_load(&bell->rung, memory_order_relaxed);
    while (rung < number && !ilk_atomic_compare_exchange(&bell->rung, &rung, number, memory_order_release,
                                                         memory_order_relaxed)) {
    }
    ilk_park_wake(&bell->rung, ILK_PARK_ALL);
}

static void install(ilk_ring_event event) {
    ilk_plain_write(&s.bell.installed, sizeof s.bell.installed);
    s.bell.installed = 1;
    s.bell.event = event;
    if (s.spsc != NULL) {
        ilk_spsc_set_notify(s.spsc, ring_bell, &s.bell);
    } else {
        ilk_mpmc_set_notify(s.mpmc, ring_bell, &s.bell);
    }
}

/* What an arm call says; `*heard` is then the number of calls that came before it was up. */
static bool arm(ilk_ring_event event, uint32_t *heard) {
    const unsigned me = 1U << ex_thread_index();
    s.arming |= me;
    bool armed;
    if (s.spsc != NULL) {
        armed = event == ILK_READABLE ? ilk_spsc_arm_pop(s.spsc) : ilk_spsc_arm_push(s.spsc);
    } else {
        armed = event == ILK_READABLE ? ilk_mpmc_arm_pop(s.mpmc) : ilk_mpmc_arm_push(s.mpmc);
    }
    *heard = s.bell.calls;
    s.arming &= ~me;
    return armed;
}

static void arm_and_await(ilk_ring_event event) {
    uint32_t heard;
    if (!arm(event, &heard)) {
        return;
    }
    for (;;) {
        /* A read-modify-write reads the newest value: a plain load might read 0 for ever. */
        const uint32_t rung = ilk_atomic_fetch_add(&s.bell.rung, 0, memory_order_acquire);
        if (rung > heard) {
            return;
        }
        (void)ilk_park_wait(&s.bell.rung, rung, ILK_FOREVER);
    }
}

/* ---- spsc ---- */

static void spsc_pop_by_bell(void) {
    uint64_t element;
    install(ILK_READABLE);
    for (;;) {
        while (ilk_spsc_try_pop(s.spsc, &element, sizeof element)) {
            s.popped++;
        }
        if (s.popped == 2) {
            return;
        }
        arm_and_await(ILK_READABLE);
    }
}

/* Sleeps first: the producer may look at the flags for the sake of FENCED while the arm goes up. */
static void spsc_pop_then_by_bell(void) {
    uint64_t element;
    ex_assert(ilk_spsc_pop_until(s.spsc, &element, sizeof element, ILK_FOREVER) == ILK_OK);
    s.popped++;
    spsc_pop_by_bell();
}

static void spsc_push_two(void) {
    uint64_t element = 1;
    ex_assert(ilk_spsc_push_until(s.spsc, &element, sizeof element, ILK_FOREVER) == ILK_OK);
    ex_assert(ilk_spsc_push_until(s.spsc, &element, sizeof element, ILK_FOREVER) == ILK_OK);
}

static void spsc_push_by_bell(void) {
    uint64_t element = 1;
    install(ILK_WRITABLE);
    for (unsigned pushed = 0; pushed < 2;) {
        if (ilk_spsc_try_push(s.spsc, &element, sizeof element)) {
            pushed++;
        } else {
            arm_and_await(ILK_WRITABLE);
        }
    }
}

static void spsc_pop_two(void) {
    uint64_t element;
    ex_assert(ilk_spsc_pop_until(s.spsc, &element, sizeof element, ILK_FOREVER) == ILK_OK);
    ex_assert(ilk_spsc_pop_until(s.spsc, &element, sizeof element, ILK_FOREVER) == ILK_OK);
}

/* Until the ring is closed and drained: pop_until with deadline 0 tells. */
static void spsc_drain_by_bell(void) {
    uint64_t element;
    install(ILK_READABLE);
    for (;;) {
        ilk_status status = ilk_spsc_pop_until(s.spsc, &element, sizeof element, 0);
        if (status == ILK_CLOSED) {
            return;
        }
        if (status == ILK_TIMEDOUT) {
            arm_and_await(ILK_READABLE);
        }
    }
}

static void spsc_close(void) {
    ilk_spsc_close(s.spsc);
}

static void spsc_push_once(void) {
    uint64_t element = 1;
    (void)!ilk_spsc_try_push(s.spsc, &element, sizeof element);
}

static void spsc_push_until_closed(void) {
    uint64_t element = 1;
    install(ILK_WRITABLE);
    for (;;) {
        ilk_status status = ilk_spsc_push_until(s.spsc, &element, sizeof element, 0);
        if (status == ILK_CLOSED) {
            return;
        }
        if (status == ILK_TIMEDOUT) {
            arm_and_await(ILK_WRITABLE);
        }
    }
}

static void spsc_reserve_and_give_up(void) {
    size_t count = 1;
    if (ilk_spsc_reserve(s.spsc, &count) != NULL) {
        ilk_spsc_commit(s.spsc, 0);
    }
}

static void spsc_reserve_one(void) {
    size_t count = 1;
    uint64_t *slot = ilk_spsc_reserve(s.spsc, &count);
    ex_assert(slot != NULL);
    ilk_plain_write(slot, sizeof *slot);
    *slot = 1;
    ilk_spsc_commit(s.spsc, 1);
}

static void spsc_pop_one_by_bell(void) {
    uint64_t element;
    install(ILK_READABLE);
    while (!ilk_spsc_try_pop(s.spsc, &element, sizeof element)) {
        arm_and_await(ILK_READABLE);
    }
}

static void spsc_push_batch(void) {
    const uint64_t elements[2] = {1, 2};
    ex_assert(ilk_spsc_try_push_many(s.spsc, elements, 2, sizeof *elements) == 2);
}

/* The deadlines may pass, over and over; both elements come in the end. */
static void spsc_push_two_late(void) {
    uint64_t element = 1;
    for (unsigned pushed = 0; pushed < 2;) {
        pushed += ilk_spsc_push_until(s.spsc, &element, sizeof element, 5000) == ILK_OK ? 1 : 0;
    }
}
static void spsc_pop_two_late(void) {
    uint64_t element;
    for (unsigned popped = 0; popped < 2;) {
        popped += ilk_spsc_pop_until(s.spsc, &element, sizeof element, 5000) == ILK_OK ? 1 : 0;
    }
}

/* Calls that do not wait, until they have found both. */
static void spsc_pop_batches(void) {
    uint64_t elements[2];
    for (size_t popped = 0; popped < 2;) {
        size_t found = ilk_spsc_try_pop_many(s.spsc, elements, 2, sizeof *elements);
        popped += found;
        if (found == 0) {
            ilk_cpu_relax();
        }
    }
}
static void spsc_read_two(void) {
    for (unsigned popped = 0; popped < 2;) {
        size_t count = 1;
        const uint64_t *slot = ilk_spsc_peek(s.spsc, &count);
        if (slot != NULL) {
            ilk_plain_read(slot, sizeof *slot);
            ilk_spsc_release(s.spsc, 1);
            popped++;
        } else {
            ilk_cpu_relax();
        }
    }
}

/* ---- mpmc ---- */

static void mpmc_pop_one_by_bell(void) {
    uint64_t element;
    install(ILK_READABLE);
    while (!ilk_mpmc_try_pop(s.mpmc, &element, sizeof element)) {
        arm_and_await(ILK_READABLE);
    }
}

static void mpmc_push_one_by_bell(void) {
    uint64_t element = 1;
    install(ILK_WRITABLE);
    while (!ilk_mpmc_try_push(s.mpmc, &element, sizeof element)) {
        arm_and_await(ILK_WRITABLE);
    }
}

/* Two into a ring of one: the second waits for room. */
static void mpmc_fill_by_bell(void) {
    uint64_t element = 1;
    ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
    mpmc_push_one_by_bell();
}

static void mpmc_push_one(void) {
    uint64_t element = 1;
    ex_assert(ilk_mpmc_push_until(s.mpmc, &element, sizeof element, ILK_FOREVER) == ILK_OK);
}
static void mpmc_push_two(void) {
    mpmc_push_one();
    mpmc_push_one();
}
static void mpmc_pop_one(void) {
    uint64_t element;
    ex_assert(ilk_mpmc_pop_until(s.mpmc, &element, sizeof element, ILK_FOREVER) == ILK_OK);
}

static void mpmc_drain_by_bell(void) {
    uint64_t element;
    install(ILK_READABLE);
    for (;;) {
        ilk_status status = ilk_mpmc_pop_until(s.mpmc, &element, sizeof element, 0);
        if (status == ILK_CLOSED) {
            return;
        }
        if (status == ILK_TIMEDOUT) {
            arm_and_await(ILK_READABLE);
        }
    }
}
static void mpmc_close(void) {
    ilk_mpmc_close(s.mpmc);
}
static void mpmc_push_once(void) {
    uint64_t element = 1;
    (void)!ilk_mpmc_try_push(s.mpmc, &element, sizeof element);
}

static void mpmc_push_batch(void) {
    const uint64_t elements[2] = {1, 2};
    ex_assert(ilk_mpmc_try_push_many(s.mpmc, elements, 2, sizeof *elements) == 2);
}
static void mpmc_push_in_place(void) {
    size_t count = 1;
    uint64_t *slot = ilk_mpmc_reserve(s.mpmc, &count);
    ex_assert(slot != NULL);
    ilk_plain_write(slot, sizeof *slot);
    *slot = 1;
    ilk_mpmc_commit(s.mpmc, 1);
}
static void mpmc_overwrite_one(void) {
    uint64_t element = 1, evicted;
    (void)ilk_mpmc_push_overwriting(s.mpmc, &element, sizeof element, &evicted);
}
static void mpmc_pop_until(void) {
    uint64_t element;
    (void)!ilk_mpmc_pop_until(s.mpmc, &element, sizeof element, 5000);
}
static void mpmc_pop_one_late(void) {
    uint64_t element;
    while (ilk_mpmc_pop_until(s.mpmc, &element, sizeof element, 5000) != ILK_OK) {
    }
}
static void mpmc_push_until(void) {
    uint64_t element = 1;
    (void)!ilk_mpmc_push_until(s.mpmc, &element, sizeof element, 5000);
}
static void mpmc_push_until_closed(void) {
    uint64_t element = 1;
    install(ILK_WRITABLE);
    for (;;) {
        ilk_status status = ilk_mpmc_push_until(s.mpmc, &element, sizeof element, 0);
        if (status == ILK_CLOSED) {
            return;
        }
        if (status == ILK_TIMEDOUT) {
            arm_and_await(ILK_WRITABLE);
        }
    }
}

/* Calls that do not wait, until they have found one. */
static void mpmc_pop_batch(void) {
    uint64_t elements[2];
    while (ilk_mpmc_try_pop_many(s.mpmc, elements, 2, sizeof *elements) == 0) {
        ilk_cpu_relax();
    }
}
static void mpmc_read_one(void) {
    for (;;) {
        size_t count = 1;
        const uint64_t *slot = ilk_mpmc_peek(s.mpmc, &count);
        if (slot != NULL) {
            ilk_plain_read(slot, sizeof *slot);
            ilk_mpmc_release(s.mpmc, 1);
            return;
        }
        ilk_cpu_relax();
    }
}

#define SCENARIO(identifier, text, start, ...)                                                               \
    EX_SCENARIO(identifier) {                                                                                \
        .name = text, .claim = "what comes after arming is announced", .setup = start, .check = check,       \
        .threads = {                                                                                         \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

SCENARIO(spsc_pop, "spsc-notify-pop", setup_spsc, spsc_push_two, spsc_pop_by_bell);
SCENARIO(spsc_pop_slept, "spsc-notify-pop-after-sleep", setup_spsc, spsc_push_two, spsc_pop_then_by_bell);
SCENARIO(spsc_pop_refused, "spsc-notify-pop-membarrier-refused", setup_spsc_refused, spsc_push_two,
         spsc_pop_by_bell);
SCENARIO(spsc_push, "spsc-notify-push", setup_spsc, spsc_push_by_bell, spsc_pop_two);
SCENARIO(spsc_closed, "spsc-notify-drain-close", setup_spsc, spsc_push_once, spsc_drain_by_bell, spsc_close);
SCENARIO(spsc_closed_push, "spsc-notify-push-close", setup_spsc, spsc_push_until_closed, spsc_close);
SCENARIO(spsc_give_up, "spsc-notify-drain-reserve-close", setup_spsc, spsc_reserve_and_give_up,
         spsc_drain_by_bell, spsc_close);
SCENARIO(mpmc_pop, "mpmc-notify-pop", setup_mpmc, mpmc_push_one, mpmc_pop_one_by_bell);
SCENARIO(mpmc_pop_refused, "mpmc-notify-pop-membarrier-refused", setup_mpmc_refused, mpmc_push_one,
         mpmc_pop_one_by_bell);
SCENARIO(mpmc_push, "mpmc-notify-push", setup_mpmc, mpmc_push_one_by_bell, mpmc_push_one, mpmc_pop_one);
SCENARIO(mpmc_closed, "mpmc-notify-drain-close", setup_mpmc, mpmc_push_once, mpmc_drain_by_bell, mpmc_close);

SCENARIO(mpmc_closed_refused, "mpmc-notify-drain-close-membarrier-refused", setup_mpmc_refused,
         mpmc_drain_by_bell, mpmc_close);
SCENARIO(mpmc_push_refused, "mpmc-notify-push-membarrier-refused", setup_mpmc_refused, mpmc_fill_by_bell,
         mpmc_pop_one);
SCENARIO(spsc_closed_refused, "spsc-notify-drain-close-membarrier-refused", setup_spsc_refused,
         spsc_push_once, spsc_drain_by_bell, spsc_close);
SCENARIO(spsc_give_up_refused, "spsc-notify-drain-reserve-close-membarrier-refused", setup_spsc_refused,
         spsc_reserve_and_give_up, spsc_drain_by_bell, spsc_close);
SCENARIO(spsc_push_refused, "spsc-notify-push-membarrier-refused", setup_spsc_refused, spsc_push_by_bell,
         spsc_pop_two);
SCENARIO(spsc_in_place_refused, "spsc-notify-reserve-membarrier-refused", setup_spsc_refused,
         spsc_reserve_one, spsc_pop_one_by_bell);

/* What the other verbs announce. */
SCENARIO(spsc_batch, "spsc-notify-push_many", setup_spsc_2, spsc_push_batch, spsc_pop_by_bell);
SCENARIO(spsc_in_place, "spsc-notify-reserve", setup_spsc, spsc_reserve_one, spsc_pop_one_by_bell);
SCENARIO(spsc_pop_batch, "spsc-notify-pop_many", setup_spsc, spsc_push_by_bell, spsc_pop_batches);
SCENARIO(spsc_peek, "spsc-notify-peek", setup_spsc, spsc_push_by_bell, spsc_read_two);
SCENARIO(spsc_late, "spsc-notify-push_until", setup_spsc, spsc_push_two_late, spsc_pop_by_bell);
SCENARIO(spsc_late_pop, "spsc-notify-pop_until", setup_spsc, spsc_push_by_bell, spsc_pop_two_late);
SCENARIO(mpmc_batch, "mpmc-notify-push_many", setup_mpmc_2, mpmc_push_batch, mpmc_pop_one_by_bell,
         mpmc_pop_until);
SCENARIO(mpmc_in_place, "mpmc-notify-reserve", setup_mpmc, mpmc_push_in_place, mpmc_pop_one_by_bell);
SCENARIO(mpmc_overwritten, "mpmc-notify-overwrite", setup_mpmc, mpmc_overwrite_one, mpmc_overwrite_one,
         mpmc_pop_one_by_bell);
SCENARIO(mpmc_popped_batch, "mpmc-notify-pop_many", setup_mpmc, mpmc_fill_by_bell, mpmc_pop_batch);
SCENARIO(mpmc_peek, "mpmc-notify-peek", setup_mpmc, mpmc_fill_by_bell, mpmc_read_one);
SCENARIO(mpmc_late, "mpmc-notify-push_until", setup_mpmc, mpmc_push_one_by_bell, mpmc_push_until,
         mpmc_pop_one);
SCENARIO(mpmc_late_pop, "mpmc-notify-pop_until", setup_mpmc, mpmc_fill_by_bell, mpmc_pop_one_late);
SCENARIO(mpmc_closed_push, "mpmc-notify-push-close", setup_mpmc, mpmc_push_until_closed, mpmc_close);

/*   hook's consumer               other consumer
 *   arm: reads head = 0
 *                                 pops at 0; the next element stands at 1
 *        slot 0 is not full
 *   "nothing there": must look at head once more, or the element at 1 is never announced             */
EX_SCENARIO(mpmc_beside){
    .name = "mpmc-notify-pop-beside-sleeper",
    .claim = "arming does not overlook an element because another consumer took the one before it",
    .setup = setup_mpmc_2,
    .check = check,
    .threads = {mpmc_push_two, mpmc_pop_one_by_bell, mpmc_pop_one},
    .titles = {"producer", "hook's consumer", "other consumer"},
    .once_failed = {"sc 4:1,11:2,26:1", "weak 16:1,20:1,29:1"},
};

/* ---- What arms and their hook are to each other ---- */

/* Arms once. */
static void arm_once(void) {
    uint32_t heard;
    install(ILK_READABLE);
    s.refused = !arm(ILK_READABLE, &heard);
}
static void spsc_push_twice(void) {
    spsc_push_once();
    spsc_push_once();
}
static void mpmc_push_twice(void) {
    mpmc_push_once();
    mpmc_push_once();
}
static void check_refused_call_nobody(void) {
    ex_expect(!s.refused || s.bell.calls == 0, "arm answered false, and the hook was called");
    ex_expect(s.refused || s.bell.calls <= 1, "one arm, and the hook was called %u times", s.bell.calls);
    check();
}
/* An element that is there when arm begins, and one that comes then. */
static void arm_once_then_take(void) {
    uint64_t element;
    arm_once();
    if (s.spsc != NULL) {
        (void)!ilk_spsc_try_pop(s.spsc, &element, sizeof element);
    } else {
        (void)!ilk_mpmc_try_pop(s.mpmc, &element, sizeof element);
    }
}

#define REFUSED(identifier, text, start, ...)                                                                \
    EX_SCENARIO(identifier) {                                                                                \
        .name = text, .claim = "an arm that answers false arms nothing", .setup = start,                     \
        .check = check_refused_call_nobody, .threads = {__VA_ARGS__},                                        \
        .titles = {"producer", "hook's consumer", "other consumer"},                                         \
    }
REFUSED(spsc_refused_arm, "spsc-notify-arm_once", setup_spsc_2, spsc_push_twice, arm_once_then_take);
REFUSED(spsc_refused_arm_refused, "spsc-notify-arm_once-membarrier-refused", setup_spsc_refused,
        spsc_push_twice, arm_once_then_take);
REFUSED(mpmc_refused_arm, "mpmc-notify-arm_once", setup_mpmc_2, mpmc_push_twice, arm_once_then_take);
REFUSED(mpmc_refused_arm_beside, "mpmc-notify-arm_once-beside-consumer", setup_mpmc_2, mpmc_push_twice,
        arm_once_then_take, mpmc_pop_until);

/* One hook for two clients, installed before. */
static void setup_mpmc_installed(void) {
    setup_mpmc_2();
    install(ILK_READABLE);
}
static void mpmc_pop_one_by_installed_bell(void) {
    uint64_t element;
    while (!ilk_mpmc_try_pop(s.mpmc, &element, sizeof element)) {
        arm_and_await(ILK_READABLE);
    }
}
EX_SCENARIO(mpmc_two_armers){
    .name = "mpmc-notify-pop-pop",
    .claim = "an arm that answers false takes no other arm down, and no call is made on the thread that arms",
    .setup = setup_mpmc_installed,
    .check = check,
    .threads = {mpmc_push_two, mpmc_pop_one_by_installed_bell, mpmc_pop_one_by_installed_bell},
    .titles = {"producer", "hook's consumer", "hook's consumer"},
};

/* Three clients, one of which sleeps: it is woken though others arm, and not by them. */
static void mpmc_push_three(void) {
    mpmc_push_two();
    mpmc_push_one();
}
EX_SCENARIO(mpmc_two_armers_beside){
    .name = "mpmc-notify-pop-pop-beside-sleeper",
    .claim = "a sleeper is woken beside threads that arm, and the hook is not called on those",
    .setup = setup_mpmc_installed,
    .check = check,
    .threads = {mpmc_push_three, mpmc_pop_one_by_installed_bell, mpmc_pop_one_by_installed_bell,
                mpmc_pop_one},
    .titles = {"producer", "hook's consumer", "hook's consumer", "sleeper"},
    .patient = true,
};

/* After set_notify the memory behind the old hook is the client's again, and the new one is not armed. */
static void must_not_be_called(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
    ex_expect(false, "a hook is called that nobody has armed");
}
static void take_hook_away(void) {
    if (s.spsc != NULL) {
        ilk_spsc_set_notify(s.spsc, must_not_be_called, NULL);
    } else {
        ilk_mpmc_set_notify(s.mpmc, must_not_be_called, NULL);
    }
    ilk_plain_write(&s.bell.installed, sizeof s.bell.installed);
    s.bell.installed = 0;
}
/*   consumer                         producer
 *   arms: true
 *                                    pushes; takes the arm down, and is late with its call
 *   finds the element without a call
 *   takes the hook away, frees what is behind it
 *                                    calls: must have been waited for                                */
static void arm_pop_and_take_away(void) {
    uint64_t element;
    uint32_t heard;
    install(ILK_READABLE);
    (void)arm(ILK_READABLE, &heard);
    if (s.spsc != NULL) {
        (void)!ilk_spsc_try_pop(s.spsc, &element, sizeof element);
    } else {
        (void)!ilk_mpmc_try_pop(s.mpmc, &element, sizeof element);
    }
    take_hook_away();
}
static void arm_push_and_take_away(void) {
    uint32_t heard;
    uint64_t element = 1;
    install(ILK_WRITABLE);
    if (s.spsc != NULL) {
        ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
    } else {
        ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
    }
    (void)arm(ILK_WRITABLE, &heard);
    take_hook_away();
}
static void spsc_pop_once(void) {
    uint64_t element;
    (void)!ilk_spsc_try_pop(s.spsc, &element, sizeof element);
}
static void mpmc_pop_once(void) {
    uint64_t element;
    (void)!ilk_mpmc_try_pop(s.mpmc, &element, sizeof element);
}

#define AWAY(identifier, text, start, ...)                                                                   \
    EX_SCENARIO(identifier) {                                                                                \
        .name = text, .claim = "once the hook is taken away, no call of it is under way", .setup = start,    \
        .check = check, .threads = {__VA_ARGS__}, .spurious_wakeups = 1,                                     \
    }
AWAY(spsc_away, "spsc-notify-taken-away", setup_spsc, spsc_push_once, arm_pop_and_take_away);
AWAY(spsc_away_push, "spsc-notify-push-taken-away", setup_spsc, arm_push_and_take_away, spsc_pop_once);
AWAY(spsc_away_close, "spsc-notify-close-taken-away", setup_spsc, spsc_close, arm_pop_and_take_away);
AWAY(mpmc_away, "mpmc-notify-taken-away", setup_mpmc, mpmc_push_once, arm_pop_and_take_away);
AWAY(mpmc_away_push, "mpmc-notify-push-taken-away", setup_mpmc, arm_push_and_take_away, mpmc_pop_once);
AWAY(mpmc_away_close, "mpmc-notify-close-taken-away", setup_mpmc, mpmc_close, arm_pop_and_take_away);

/* The hook takes itself away, beside a call of the other side's hook that does the same wait. */
static void take_hook_away_in_hook(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
    s.bell.calls++;
    if (s.spsc != NULL) {
        ilk_spsc_set_notify(s.spsc, NULL, NULL);
    } else {
        ilk_mpmc_set_notify(s.mpmc, NULL, NULL);
    }
}
static void setup_spsc_self(void) {
    setup_spsc();
    ilk_spsc_set_notify(s.spsc, take_hook_away_in_hook, NULL);
    ex_assert(ilk_spsc_arm_pop(s.spsc));
}
static void setup_mpmc_self(void) {
    setup_mpmc();
    ilk_mpmc_set_notify(s.mpmc, take_hook_away_in_hook, NULL);
    ex_assert(ilk_mpmc_arm_pop(s.mpmc));
}
static void check_called_once(void) {
    ex_assert(s.bell.calls == 1);
    check();
}
EX_SCENARIO(spsc_self){
    .name = "spsc-notify-takes-itself-away",
    .claim = "a hook that takes itself away waits for no call of its own",
    .setup = setup_spsc_self,
    .check = check_called_once,
    .threads = {spsc_push_once, spsc_pop_once, spsc_close},
};
EX_SCENARIO(mpmc_self){
    .name = "mpmc-notify-takes-itself-away",
    .claim = "a hook that takes itself away waits for no call of its own",
    .setup = setup_mpmc_self,
    .check = check_called_once,
    .threads = {mpmc_push_once, mpmc_pop_once, mpmc_close},
};
