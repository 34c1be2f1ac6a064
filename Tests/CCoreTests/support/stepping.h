/* SPDX-License-Identifier: Apache-2.0
 *
 * A signal handler after every instruction of a call, one place a run: what a header promises to handlers holds
 * wherever they interrupt, so tests leave out no place. In a first run the processor stops after each instruction
 * (x86-64's trap flag, SIGTRAP) and the places are noted; each further run goes at full speed to a breakpoint at its
 * place, or step by step where the text cannot be written. In a call of more than 500 instructions the places are a
 * hundred of the first executions of each, evenly spread: what spins repeats itself.
 *
 * Or a look at every instruction of a call: what a fast path executes is a promise too.
 *
 * Handlers cannot run where the library holds signals, so nothing is stopped there: programs are linked with
 * --wrap=ilk__signals_hold and --wrap=ilk__signals_release. On the main thread only.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_STEPPING_H
#define INTERLOCK_TESTS_SUPPORT_STEPPING_H

#include "support/test.h"

struct stepped {
    void (*prepare)(void *context); /* before each run */
    void (*call)(void *context);    /* the same instructions in each run, if no handler comes */
    void (*handler)(void *context); /* once a run */
    void (*settle)(void *context);  /* after each run: checks */
};

/* A run for each place, and one before them without a handler. The number of places. */
size_t step_everywhere(const struct stepped *stepped, void *context);

/* Runs the call once; `see` is told of each instruction before it is executed. It is called in a signal handler. */
void step_through(void (*call)(void *context), void *context, void (*see)(const unsigned char *instruction));

/* Where the processor or a sanitizer does not let it: skips the test, with the reason. */
void skip_unless_stepping(void);

#endif
