/* SPDX-License-Identifier: Apache-2.0
 *
 * The port to event descriptors (platform/event_descriptor.h) in the model: one descriptor, a word. A scenario waits
 * for it as for an eventfd: it parks on the word while that is 0. System calls order memory.
 */
#include <interlock/park.h>
#include <platform/event_descriptor.h>

ILK_ATOMIC(uint32_t) ex_descriptor_word;

bool ilk__event_descriptor_exists(void) {
    return true;
}

int ilk__event_descriptor_open(void) {
    return 0;
}

void ilk__event_descriptor_close(int descriptor) {
    (void)descriptor;
}

void ilk__event_descriptor_raise(int descriptor) {
    (void)descriptor;
    if (ilk_atomic_exchange(&ex_descriptor_word, 1, memory_order_seq_cst) == 0) {
        ilk_park_wake(&ex_descriptor_word, ILK_PARK_ALL);
    }
}

void ilk__event_descriptor_lower(int descriptor) {
    (void)descriptor;
    (void)ilk_atomic_exchange(&ex_descriptor_word, 0, memory_order_seq_cst);
}
