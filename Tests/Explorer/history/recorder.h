/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording histories of real threads. Every thread writes into a buffer of its own, so that recording adds
 * no shared memory traffic: a shared counter would order the threads and hide the reorderings under test.
 *
 * Time comes from CLOCK_MONOTONIC, which no core sees run backwards. The time of a call is taken before the
 * operation can have any effect, that of its return after the effect is visible to every core: a full fence
 * stands on both sides, so that neither the operation's loads run ahead of the first nor its stores lag
 * behind the second. Operations of equal time count as overlapping.
 */
#ifndef EXPLORER_HISTORY_RECORDER_H
#define EXPLORER_HISTORY_RECORDER_H

#include "history.h"

typedef struct ex_recorder ex_recorder;

/* A recorder for `threads` threads (at most EX_HISTORY_THREADS) of up to `operations` each. NULL: no
 * memory. */
ex_recorder *ex_recorder_create(unsigned threads, size_t operations);
void ex_recorder_destroy(ex_recorder *recorder);

/* Around one operation, on the thread whose buffer it is. The first returns false when it is full. */
bool ex_record_call(ex_recorder *recorder, unsigned thread, unsigned kind, uint64_t argument);
void ex_record_return(ex_recorder *recorder, unsigned thread, uint64_t result);

/* The history of all threads in order of calls, when none is recording. It belongs to the recorder. */
ex_history ex_recorder_history(ex_recorder *recorder);

#endif
