/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording histories of real threads. Every thread writes into a buffer of its own: a shared counter would
 * order the threads and hide the reorderings under test.
 *
 * Time comes from CLOCK_MONOTONIC, which no core sees run backwards. A fence on both sides keeps the
 * operation's loads after the time of the call, and makes its effect visible to every core before the time of
 * its return. Operations of equal time overlap.
 */
#ifndef EXPLORER_HISTORY_RECORDER_H
#define EXPLORER_HISTORY_RECORDER_H

#include "history.h"

typedef struct ex_recorder ex_recorder;

/* At most EX_HISTORY_THREADS, of up to `operations` each. NULL: no memory. */
ex_recorder *ex_recorder_create(unsigned threads, size_t operations);
void ex_recorder_destroy(ex_recorder *recorder);

/* Around one operation, on the buffer's thread. The first returns false when it is full. */
bool ex_record_call(ex_recorder *recorder, unsigned thread, unsigned kind, uint64_t argument);
void ex_record_return(ex_recorder *recorder, unsigned thread, uint64_t result);

/* Between the two; see ex_not_before. */
void ex_record_not_before(ex_recorder *recorder, unsigned thread, uint64_t moment);

/* In order of calls, when none is recording. The recorder owns it. */
ex_history ex_recorder_history(ex_recorder *recorder);

#endif
