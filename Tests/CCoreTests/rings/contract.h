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

#endif
