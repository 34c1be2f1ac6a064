/* SPDX-License-Identifier: Apache-2.0
 *
 * A source of sound, like a driver: a POSIX thread that makes a block of samples every period, at the
 * producer's end of a ring. A block without room is lost and counted, because a microphone cannot wait.
 *
 * The tone's amplitude is 0.5 in the first quarter of the blocks, and halves with each quarter. A block holds
 * whole periods, so that its loudness is known exactly.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <interlock/spsc.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CAPTURE_SAMPLES = 64, CAPTURE_RATE = 48000 };

typedef struct capture_block {
    uint64_t number; /* of all blocks made: a gap shows how many were lost */
    float samples[CAPTURE_SAMPLES];
} capture_block;

typedef struct capture_report {
    uint64_t made;
    uint64_t lost;
} capture_report;

typedef struct capture capture;

/* Starts a thread that makes `blocks` blocks, one every `period_ns` (0: as fast as it can), pushes them into
 * `ring`, whose producer it becomes and whose elements are capture_block, and closes the ring. It ends early
 * if the ring is closed. Returns 0, or an errno: then no thread was started and the ring is unchanged. */
int capture_start(capture **out, ilk_spsc *ring, uint64_t blocks, uint64_t period_ns);

/* Joins the thread, frees `capture` and returns the counts. Blocks. */
capture_report capture_finish(capture *capture);

#ifdef __cplusplus
}
#endif

#endif
