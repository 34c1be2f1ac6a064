/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequential models, each with its kinds of operation, arguments and results.
 */
#ifndef EXPLORER_HISTORY_MODELS_H
#define EXPLORER_HISTORY_MODELS_H

#include "history.h"

/* A register: reads answer the last value written. No parameters; holds 0 at first. */
enum { EX_READ, EX_WRITE };
extern const ex_model ex_register;

/* A bounded queue, first in first out, that can be closed.
 *   push(element)   EX_DONE, EX_REFUSED (full or closed), EX_CLOSED
 *   pop()           the element, EX_EMPTY (EX_TIMEDOUT counts as that), EX_DRAINED
 *   close()
 *   overwrite(element)   EX_DONE, or the element evicted; itself when closed. Beside a close it may
 *                   complete after the close: it claims its slot first and evicts afterwards */
enum { EX_PUSH, EX_POP, EX_CLOSE, EX_OVERWRITE };
#define EX_DONE UINT64_C(0xFFFFFFFF00000000)
#define EX_REFUSED UINT64_C(0xFFFFFFFF00000001)
#define EX_CLOSED UINT64_C(0xFFFFFFFF00000002)
#define EX_EMPTY UINT64_C(0xFFFFFFFF00000003)
#define EX_DRAINED UINT64_C(0xFFFFFFFF00000004)
#define EX_TIMEDOUT UINT64_C(0xFFFFFFFF00000005)
enum { EX_QUEUE_MOST = 16 };
typedef struct ex_queue_parameters {
    unsigned capacity; /* at most EX_QUEUE_MOST */
    /* "full" may be answered beside a pop in progress, and "empty" beside a push: a ring with a stamp per
     * slot cannot do better. */
    bool inexact;
    /* A push that runs beside a close may succeed after it, until a pop has said that the queue is
     * drained. */
    bool late_pushes;
} ex_queue_parameters;
extern const ex_model ex_bounded_queue;

/* The same without close, as the deque of a worker: the owner pushes and takes, thieves pop.
 *   take_last()     the element pushed last, EX_EMPTY
 *   pop()           as above; EX_REFUSED: outrun by a pop or a take_last beside it */
enum { EX_TAKE_LAST = EX_OVERWRITE + 1 };
extern const ex_model ex_deque;

/* A count that goes down to zero once. Parameter: uint32_t count at first.
 *   count_down()    EX_DONE
 *   await()         EX_DONE (open), EX_REFUSED or EX_TIMEDOUT (shut)
 *   probe()         what is left to count down */
enum { EX_COUNT_DOWN, EX_AWAIT, EX_PROBE };
extern const ex_model ex_latch;

/* A counting semaphore; with one permit, a mutex. Parameter: uint32_t permits at first.
 *   wait()          EX_DONE, EX_REFUSED (none there) or EX_TIMEDOUT (none there, or beside another wait)
 *   signal(count)   EX_DONE */
enum { EX_WAIT, EX_SIGNAL };
extern const ex_model ex_semaphore;

/* Members that become ready, and one thread that waits for any (ilk_wait_set). Parameter: uint32_t, the mask of those
 * that a wait takes from, as from a semaphore.
 *   wait()          a mask of members, each ready; EX_NONE (a wake, perhaps with members ready) or EX_TIMEDOUT (no
 *                   member ready, and no wake). A wake is gone once a wait has answered other than EX_TIMEDOUT
 *   signal(member), wake()
 *   take(member)    EX_DONE, EX_EMPTY */
enum { EX_TAKE = EX_SIGNAL + 1, EX_WAKE };
#define EX_NONE UINT64_C(0)
enum { EX_MEMBERS = 4 };
extern const ex_model ex_ready_set;

/* A map from small keys (below EX_MAP_KEYS) to values other than 0. argument: key << 32 | value.
 *   put             the value replaced, 0 for none
 *   get, remove     the value, 0 for none */
enum { EX_PUT, EX_GET, EX_REMOVE };
enum { EX_MAP_KEYS = 8 };
extern const ex_model ex_map;

#endif
