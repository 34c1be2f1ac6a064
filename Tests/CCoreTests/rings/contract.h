/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract of both rings, except load (ring_stress.h, ring_long.h), the hook (ring_notify.h) and misuse
 * (ring_misuse.h). spsc_test.c and mpmc_test.c include it after a face.
 */
#ifndef INTERLOCK_TESTS_RINGS_CONTRACT_H
#define INTERLOCK_TESTS_RINGS_CONTRACT_H

#include "rings/contract_in_place.h"
#include "rings/contract_order.h"
#include "rings/contract_vocabulary.h"
#include "rings/contract_waiting.h"

static const struct CMUnitTest shared_tests[] = {
    cmocka_unit_test(every_capacity_is_honoured_exactly),
    cmocka_unit_test(elements_of_every_size_come_out_as_they_went_in),
    cmocka_unit_test(buffers_may_lie_at_any_address),
    cmocka_unit_test(bad_sizes_are_invalid_and_write_nothing),
    cmocka_unit_test(destroying_none_does_nothing),
    cmocka_unit_test(a_ring_may_be_destroyed_with_elements_in_it),
    cmocka_unit_test(batches_take_what_fits_in_order),
    cmocka_unit_test(a_batch_of_none_is_none),
    cmocka_unit_test(batches_of_every_size_cross_the_end),
    cmocka_unit_test(reserved_slots_are_pushed_by_commit),
    cmocka_unit_test(peeked_elements_stay_until_released),
    cmocka_unit_test(any_sequence_of_verbs_is_a_bounded_queue),
    cmocka_unit_test(waiting_pops_get_the_elements_pushed),
    cmocka_unit_test(waiting_pushes_get_the_room_made),
    cmocka_unit_test(waits_time_out_and_not_early),
    cmocka_unit_test(signals_do_not_move_the_deadline),
    cmocka_unit_test(a_closed_ring_drains_and_takes_nothing_more),
    cmocka_unit_test(every_kind_of_pop_drains_a_closed_ring),
    cmocka_unit_test(a_reservation_made_before_close_still_counts),
    cmocka_unit_test(close_wakes_every_waiter),
};

#endif
