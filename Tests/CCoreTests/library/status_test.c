/* SPDX-License-Identifier: Apache-2.0
 *
 * Statuses, the clock and deadlines, and the names of objects.
 */
#include "support/test.h"
#include <interlock/barrier.h>
#include <interlock/diagnostics.h>
#include <interlock/mpmc.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <interlock/wait_set.h>
#include <string.h>
#include <time.h>
/* contract: ilk_status_name */
TEST(every_status_has_its_name) {
    assert_string_equal(ilk_status_name(ILK_OK), "ILK_OK");
    assert_string_equal(ilk_status_name(ILK_TIMEDOUT), "ILK_TIMEDOUT");
    assert_string_equal(ilk_status_name(ILK_CLOSED), "ILK_CLOSED");
    assert_string_equal(ilk_status_name(ILK_INVALID), "ILK_INVALID");
    assert_string_equal(ilk_status_name(ILK_NOMEM), "ILK_NOMEM");
    assert_string_equal(ilk_status_name((ilk_status)99), "ILK_STATUS_UNKNOWN");
}
/* contract: ilk_deadline_in_ns, ilk_now_ns */
TEST(now_is_the_monotonic_clock) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    uint64_t now = ilk_now_ns();
    clock_gettime(CLOCK_MONOTONIC, &after);
    check(now >= (uint64_t)before.tv_sec * 1000000000U + (uint64_t)before.tv_nsec);
    check(now <= (uint64_t)after.tv_sec * 1000000000U + (uint64_t)after.tv_nsec);
}
/* contract: ilk_deadline_in_ns, ilk_now_ns */
TEST(deadline_is_so_far_from_now) {
    const uint64_t length = 123456789;
    uint64_t before = ilk_now_ns();
    uint64_t deadline = ilk_deadline_in_ns(length);
    uint64_t after = ilk_now_ns();
    check(deadline >= before + length && deadline <= after + length);
}
/* contract: ilk_deadline_in_ns, ilk_now_ns */
TEST(deadline_saturates_instead_of_wrapping) {
    check(ilk_deadline_in_ns(UINT64_MAX) == ILK_FOREVER);
    check(ilk_deadline_in_ns(UINT64_MAX - 1) == ILK_FOREVER);
    uint64_t now = ilk_now_ns();
    check(ilk_deadline_in_ns(UINT64_MAX - now) == ILK_FOREVER);
    check(ilk_deadline_in_ns(UINT64_MAX / 2) > now);
}
/* contract: ilk_get_name, ilk_set_name */
TEST(a_name_is_kept_replaced_and_taken_away) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    char name[ILK_NAME_SIZE] = "before";
    assert_false(ilk_get_name(&lock, name, sizeof name));
    assert_string_equal(name, "");
    assert_int_equal(ilk_set_name(&lock, "orders"), ILK_OK);
    assert_true(ilk_get_name(&lock, name, sizeof name));
    assert_string_equal(name, "orders");
    assert_int_equal(ilk_set_name(&lock, "invoices"), ILK_OK);
    assert_true(ilk_get_name(&lock, name, sizeof name));
    assert_string_equal(name, "invoices");
    assert_int_equal(ilk_set_name(&lock, NULL), ILK_OK);
    assert_false(ilk_get_name(&lock, name, sizeof name));
    assert_int_equal(ilk_set_name(&lock, "again"), ILK_OK);
    assert_int_equal(ilk_set_name(&lock, ""), ILK_OK);
    assert_false(ilk_get_name(&lock, name, sizeof name));
}
/* contract: ilk_get_name, ilk_set_name */
TEST(a_long_name_is_cut) {
    const int object = 0;
    char longest[200];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(ilk_set_name(&object, longest), ILK_OK);
    char name[200];
    assert_true(ilk_get_name(&object, name, sizeof name));
    assert_int_equal(strlen(name), ILK_NAME_SIZE - 1);
    char small[4];
    assert_true(ilk_get_name(&object, small, sizeof small));
    assert_string_equal(small, "nnn");
    assert_int_equal(ilk_set_name(&object, NULL), ILK_OK);
}

/* For each place of the cut in characters of two, three and four bytes, and for bytes that are no UTF-8. */
/* contract: ilk_set_name */
TEST(a_name_is_cut_between_characters) {
    const int object = 0;
    static const char *const characters[] = {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x94\x92"};
    for (size_t kind = 0; kind < sizeof characters / sizeof *characters; kind++) {
        const size_t size = strlen(characters[kind]);
        for (size_t before = 0; before < size; before++) {
            char longest[200] = "nnnn";
            size_t end = before;
            for (; end + size < sizeof longest; end += size) {
                memcpy(longest + end, characters[kind], size + 1);
            }
            assert_int_equal(ilk_set_name(&object, longest), ILK_OK);
            char name[ILK_NAME_SIZE];
            assert_true(ilk_get_name(&object, name, sizeof name));
            assert_int_equal(strlen(name), before + (ILK_NAME_SIZE - 1 - before) / size * size);
            assert_memory_equal(name, longest, strlen(name));
        }
    }
    char bytes[200];
    memset(bytes, 0x80, sizeof bytes - 1);
    bytes[sizeof bytes - 1] = '\0';
    assert_int_equal(ilk_set_name(&object, bytes), ILK_OK);
    char name[ILK_NAME_SIZE];
    assert_true(ilk_get_name(&object, name, sizeof name));
    assert_int_equal(strlen(name), ILK_NAME_SIZE - 1);
    assert_int_equal(ilk_set_name(&object, NULL), ILK_OK);
}
/* contract: ilk_barrier_destroy, ilk_rwlock_destroy, ilk_semaphore_destroy, ilk_set_name, ilk_wait_set_destroy */
TEST(destroy_takes_the_name_away) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 2);
    ilk_spsc *spsc = NULL;
    ilk_mpmc *mpmc = NULL;
    ilk_wait_set *set = NULL;
    assert_int_equal(ilk_spsc_create(&spsc, 1, 1), ILK_OK);
    assert_int_equal(ilk_mpmc_create(&mpmc, 1, 1), ILK_OK);
    assert_int_equal(ilk_wait_set_create(&set), ILK_OK);
    const void *const objects[] = {&lock, &semaphore, &barrier, spsc, mpmc, set};
    char name[ILK_NAME_SIZE];
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        assert_int_equal(ilk_set_name(objects[i], "orders"), ILK_OK);
        assert_true(ilk_get_name(objects[i], name, sizeof name));
    }
    ilk_rwlock_destroy(&lock);
    ilk_semaphore_destroy(&semaphore);
    ilk_barrier_destroy(&barrier);
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
    ilk_wait_set_destroy(set);
    for (size_t i = 0; i < sizeof objects / sizeof *objects;
         i++) { /* by its address, which is not followed */
        assert_false(ilk_get_name(objects[i], name, sizeof name));
    }
}

struct namer {
    int objects[64];
    int rounds;
};

static void name_and_unname(void *context) {
    struct namer *namer = context;
    for (int round = 0; round < namer->rounds; round++) {
        for (int i = 0; i < 64; i++) {
            const char text[] = {(char)('0' + i), '\0'};
            check_equal(ilk_set_name(&namer->objects[i], text), ILK_OK);
        }
        for (int i = 0; i < 64; i++) {
            char name[ILK_NAME_SIZE];
            check(ilk_get_name(&namer->objects[i], name, sizeof name));
            check(name[0] == '0' + i && name[1] == '\0');
            check_equal(ilk_set_name(&namer->objects[i], NULL), ILK_OK);
        }
    }
}
/* contract: ilk_set_name */
TEST(threads_name_their_objects_beside_each_other) {
    static struct namer namers[4];
    for (int i = 0; i < 4; i++) {
        namers[i].rounds = stress_rounds(200);
    }
    threads_run(4, name_and_unname, namers, sizeof *namers);
}
