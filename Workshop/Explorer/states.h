/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of the core's protocols that the explorer must reach. A mark in the core (ILK__REACHES,
 * platform/reaches.h), in the engine or in a scenario counts one; scenarios name those that they must reach
 * (EX_MUST_REACH, explorer.h). A run in which a named state is not reached fails: a longer spin, another pause or
 * policy hides paths from the explorer without a word otherwise.
 */
#ifndef EXPLORER_STATES_H
#define EXPLORER_STATES_H

#include <stdbool.h>

#define EX_STATES(STATE)                                                                                     \
    /* The engine. */                                                                                        \
    STATE(SLEEPER_WOKEN, "a sleeper is woken")                                                               \
    STATE(SLEEPER_LATE, "a sleeper's time is up")                                                            \
    STATE(HANDLER_RAN, "a signal handler runs between two steps of a call")                                  \
    STATE(FORKED, "a thread forks while another is not done")                                                \
    /* rwlock/hand_over.c, lock.c */                                                                         \
    STATE(LOCK_READER_WAITS, "a reader stays in the queue")                                                  \
    STATE(LOCK_WRITER_WAITS, "a writer stays in the queue")                                                  \
    STATE(LOCK_UPGRADABLE_WAITS, "an upgradable reader stays in the queue")                                  \
    STATE(LOCK_UPGRADE_WAITS, "an upgrade stays in the queue")                                               \
    STATE(LOCK_TO_READERS, "a holder that leaves lets waiting readers in")                                   \
    STATE(LOCK_TO_EXCLUSIVE, "a holder that leaves lets a waiting writer or upgradable in")                  \
    STATE(LOCK_TO_UPGRADE, "a reader that leaves lets a waiting upgrade in")                                 \
    STATE(LOCK_DOWNGRADE_BESIDE_WAITERS, "a writer becomes a reader beside waiters")                         \
    STATE(LOCK_READER_LEAVES_OTHERS, "a reader leaves beside a waiter while other readers stay")             \
    STATE(LOCK_LEFT_TO_QUEUE_HOLDER, "a holder leaves while another thread has the queue")                   \
    STATE(LOCK_LATE_IN_QUEUE, "a waiter's time is up, and it leaves the queue")                              \
    STATE(LOCK_LATE_AND_LET_IN, "a waiter's time is up, and it has been let in")                             \
    STATE(LOCK_LATE_FOR_SLOT, "a writer's time is up while a reader is in its slot")                         \
    STATE(LOCK_LATE_FOR_SLOT_BESIDE_WAITERS, "the same beside waiters in the queue")                         \
    /* rwlock/further_reads.c, reader_slots.c, mode.c */                                                     \
    STATE(SLOT_READ_FURTHER, "a thread reads further in its slot")                                           \
    STATE(SLOT_FURTHER_REFUSED, "a further read finds a writer, and goes back")                              \
    STATE(SLOT_WRITER_SLEEPS, "a writer sleeps for a reader in a slot")                                      \
    STATE(SLOT_WRITER_WOKEN, "the owner of a slot takes a writer's request down")                            \
    STATE(SLOT_OWNER_FENCES, "a writer makes the owner of a slot fence, for membarrier is refused")          \
    STATE(SLOT_TABLE_GROWS, "a thread links a chunk")                                                        \
    STATE(SLOT_CHUNK_OUTRUN, "another thread has linked a chunk meanwhile")                                  \
    STATE(SLOT_BLOCK_FREED, "a thread gives its block back as it ends")                                      \
    STATE(MODE_TO_SLOTS, "a reader moves a lock to slots")                                                   \
    STATE(MODE_TO_FENCE_FREE, "a reader makes a lock fence-free")                                            \
    STATE(MODE_FROM_SLOTS, "a writer moves a lock back to its word")                                         \
    STATE(MODE_FROM_FENCE_FREE, "a writer ends a lock's fence-free mode")                                    \
    STATE(MODE_REFUSED_FENCE_FREE, "the same, for membarrier is refused")                                    \
    /* wait/ */                                                                                              \
    STATE(QUEUE_OUTRUN, "the word changes under the thread that has the queue")                              \
    STATE(QUEUE_LOCK_SLEEPS, "a thread sleeps for a waiter queue")                                           \
    STATE(WAITER_SLEEPS, "a queued waiter sleeps")                                                           \
    STATE(WAITER_GRANTED_AWAKE, "a queued waiter is granted before it sleeps")                               \
    /* wait/conditions.c, condition/ */                                                                      \
    STATE(CONDITION_SLEEPS, "a waiter for a condition sleeps")                                               \
    STATE(CONDITION_CHOSEN, "a writer that leaves finds a waiter's condition true")                          \
    STATE(CONDITION_LEFT_TO_WOKEN, "a writer leaves the waiters to one that is woken already")               \
    STATE(CONDITION_WOKEN_TOO_LATE, "a woken waiter finds its condition undone")                             \
    STATE(CONDITION_LATE_AND_CHOSEN, "a waiter's time is up while a writer is about to wake it")             \
    STATE(CONDITION_RETAKEN, "a mutex that the kernel left without a mark is taken once more")               \
    STATE(CONDITION_SIGNALS, "a waiter on a condition is signalled")                                         \
    STATE(CONDITION_MOVES, "a signaller moves a waiter to the mutex that it owns")                           \
    STATE(CONDITION_MOST_SIGNALLED, "as many signalled waiters are woken as may be at once")                 \
    STATE(CONDITION_LATE_AND_MOVED, "its time is up, and it has been moved")                                 \
    STATE(CONDITION_LATE, "its time is up, and it leaves the queue")                                         \
    STATE(CONDITION_LATE_AND_SIGNALLED, "its time is up, and it has been signalled")                         \
    STATE(INBOX_SLEEPS, "the owner of an inbox sleeps")                                                      \
    STATE(INBOX_WAKES, "a notifier wakes the owner of an inbox")                                             \
    STATE(INBOX_PENDS, "a notifier finds that the owner of an inbox is told already")                        \
    STATE(INBOX_COMES_AS_IT_RESTS, "a watcher comes as the owner finds its inbox empty")                     \
    STATE(CALLS_WAITED_FOR, "an owner waits for a call that uses what it owns")                              \
    STATE(FENCE_LEAVES, "a thread gives membarrier up")                                                      \
    STATE(FENCE_AWAITS_LEAVER, "a thread fences while another gives membarrier up")                          \
    STATE(EVENT_FENCED_UP, "a sleeper raises FENCED on an event count")                                      \
    STATE(EVENT_FENCED_DOWN, "a publisher takes it down")                                                    \
    STATE(EVENT_WAKES, "a publisher wakes a registered thread")                                              \
    STATE(EVENT_WAKE_PENDS, "a publisher finds a wake-up under way")                                         \
    STATE(EVENT_ACKNOWLEDGED, "a woken thread acknowledges its wake-up")                                     \
    STATE(EVENT_FLAGGED, "a publisher finds a flag of the owner and no thread")                              \
    /* ring/ */                                                                                              \
    STATE(SPSC_SLEEPS, "a side of an spsc parks")                                                            \
    STATE(SPSC_WAKES, "a side of an spsc wakes the other")                                                   \
    STATE(SPSC_FENCED_UP, "a side of an spsc raises FENCED")                                                 \
    STATE(SPSC_FENCED_DOWN, "a side of an spsc takes it down")                                               \
    STATE(SPSC_PUSH_BESIDE_CLOSE, "a push to an spsc is first beside a close")                               \
    STATE(SPSC_PUSH_TAKEN_BACK, "a push to an spsc beside a close comes after the seal")                     \
    STATE(SPSC_SEAL_AFTER_PUSH, "a consumer seals after the last push, and finds it")                        \
    STATE(SPSC_CLOSED_OVER_RESERVATION, "a consumer finds an spsc closed and a reservation open")            \
    STATE(SPSC_ARMED, "a side of an spsc arms the hook")                                                     \
    STATE(SPSC_ARM_TAKEN, "an arm call finds its ARMING taken down")                                         \
    STATE(SPSC_NOTIFIES_SETS, "a side of an spsc notifies wait sets")                                        \
    STATE(SPSC_WATCH_FENCES_HEAVILY, "a wait set executes a heavy fence for an spsc")                        \
    STATE(SPSC_NOTIFIES, "a side of an spsc calls the hook")                                                 \
    STATE(MPMC_SLEEPS, "a thread at an mpmc parks")                                                          \
    STATE(MPMC_LEAVES_OTHERS, "a waiter leaves an mpmc at which others wait")                                \
    STATE(MPMC_PUSH_REFUSED, "a push that waits finds an mpmc closed")                                       \
    STATE(MPMC_POP_DRAINED, "a pop that waits finds an mpmc closed and drained")                             \
    STATE(MPMC_POP_BEFORE_DRAINED, "a pop that waits finds an mpmc closed, and a push not done")             \
    STATE(MPMC_ARMED, "a thread arms the hook of an mpmc")                                                   \
    STATE(MPMC_ARM_TAKEN, "an arm call finds that a thread has taken its arm down")                          \
    STATE(MPMC_NOTIFIES_SETS, "a thread at an mpmc notifies wait sets")                                      \
    STATE(MPMC_NOTIFIES, "a thread at an mpmc calls the hook")                                               \
    STATE(MPMC_OVERWRITES, "a push to a full mpmc evicts the oldest")                                        \
    STATE(MPMC_OVERWRITE_OUTRUN, "a consumer has the oldest before the overwriter")                          \
    /* sync/ */                                                                                              \
    STATE(SEMAPHORE_WAITS, "a waiter stays in a semaphore's queue")                                          \
    STATE(SEMAPHORE_HANDS_OVER, "a signal hands a permit to a waiter")                                       \
    STATE(SEMAPHORE_LEFT_TO_HOLDER, "a signal leaves its permits to the thread that has the queue")          \
    STATE(SEMAPHORE_UNSERVED, "a waiter about to be served goes back to the queue")                          \
    STATE(SEMAPHORE_LATE_IN_QUEUE, "a waiter's time is up, and it leaves a semaphore's queue")               \
    STATE(SEMAPHORE_LATE_AND_SERVED, "a waiter's time is up, and a permit is on its way")                    \
    STATE(SEMAPHORE_BARGED, "a thread takes a permit beside waiters")                                        \
    STATE(SEMAPHORE_CALLS, "a waiter is called for a permit that any thread may take")                       \
    STATE(SEMAPHORE_PASSED, "a waiter that was called finds no permit")                                      \
    STATE(SEMAPHORE_IN_TURN, "a waiter that has been passed often enough is next")                           \
    STATE(SEMAPHORE_LATE_AND_CALLED, "a waiter's time is up, and a call is on its way")                      \
    STATE(MUTEX_SLEEPS, "a locker is about to sleep for a mutex")                                            \
    STATE(MUTEX_WAKES, "an unlock wakes a locker")                                                           \
    STATE(MUTEX_LATE, "a locker's time is up")                                                               \
    STATE(MUTEX_LOCKED_AGAIN, "the owner of a recursive mutex locks it again")                               \
    STATE(MUTEX_EARLIER_OWNER_SLEEPS, "a locker sleeps for an owner from before a fork")                     \
    STATE(MUTEX_EARLIER_OWNER_OUTRUN, "the owner from before a fork leaves as a locker is about to sleep")   \
    STATE(MUTEX_KERNEL_SLEEPS, "a locker of an inheriting mutex sleeps in the kernel")                       \
    STATE(MUTEX_KERNEL_HANDS_OVER, "the kernel hands an inheriting mutex over")                              \
    STATE(LATCH_SLEEPS, "a waiter is about to sleep for a latch")                                            \
    STATE(LATCH_WAKES, "the opener of a latch wakes")                                                        \
    STATE(BARRIER_WITHDRAWS, "a party's time is up, and it takes its arrival back")                          \
    STATE(BARRIER_LATE_AND_DONE, "a party's time is up, and its round is complete")                          \
    STATE(BARRIER_DESTROYER_WAITS, "a barrier's destroyer waits for a party to leave")                       \
    /* wait_set/ */                                                                                          \
    STATE(WAIT_SET_READY_AS_IT_ARMS, "a member comes as it is armed")                                        \
    STATE(WAIT_SET_REMOVES_MARKED, "a member is removed that a notifier has marked")                         \
    STATE(WAIT_SET_BESIDE_HAND_OVER, "a member is probed while a permit is handed over to it")               \
    STATE(WAIT_SET_GIVES_BACK, "a permit that was not answered goes back")                                   \
    /* pool/ */                                                                                              \
    STATE(DEQUE_LAST_TO_THIEF, "a thief has the last job before the owner")                                  \
    STATE(DEQUE_THIEF_OUTRUN, "another thread has a job before a thief")                                     \
    STATE(DEQUE_FULL, "a deque is full")                                                                     \
    STATE(POOL_STEALS, "a worker steals a job")                                                              \
    STATE(POOL_REFILLS, "a worker takes several jobs from outside")                                          \
    STATE(POOL_SLEEPS, "a worker sleeps")                                                                    \
    STATE(POOL_YIELDS, "a worker finds jobs that another thread has in hand")                                \
    STATE(POOL_STARTS, "a pool starts a thread")                                                             \
    STATE(POOL_REFUSED, "the system refuses a pool a thread")                                                \
    STATE(POOL_SPARE, "a worker becomes a spare one")                                                        \
    STATE(POOL_SPARE_WOKEN, "a spare worker is woken")                                                       \
    STATE(POOL_ENDS_IDLE, "a worker ends for want of jobs")                                                  \
    STATE(POOL_STAYS_FOR_JOB, "a worker about to end finds a job")                                           \
    STATE(POOL_BLOCKED, "a job blocks, and its thread's place is free")                                      \
    STATE(POOL_WAIT_PARKS, "a worker whose job waits parks")                                                 \
    STATE(POOL_STUCK_FINDS, "a worker whose job waits finds its job in a stuck pool")                        \
    STATE(POOL_IDLE_PARKS, "a thread that waits until a pool is idle parks")                                 \
    STATE(GROUP_WAKES, "the last job of a group wakes a sleeper")                                            \
    STATE(GROUP_WAKES_WORKERS, "the last job of a group wakes workers")                                      \
    STATE(GROUP_FOLLOWED, "the last job of a group submits the one that follows")                            \
    /* diagnostics/ */                                                                                       \
    STATE(ORDER_OF_ENDED, "what an order is with has ended before the order is added")                       \
    STATE(EDGE_MADE_OVER, "an order takes the place of one with what has ended")                             \
    STATE(EDGE_CHANGES_AS_READ, "an edge is made over while a thread reads it")                              \
    STATE(EDGE_SEARCHED_AGAIN, "an order is searched again, with fewer guards or more proofs")               \
    STATE(OBJECT_FOLLOWS, "an object takes the place of one that has ended")                                 \
    STATE(OBJECT_CHANGES_AS_READ, "an object ends while a thread asks for its address")                      \
    STATE(INDEX_GROWS, "an index gets another table")                                                        \
    STATE(TIMES_FOLLOW, "an object gets the times of one that has ended")                                    \
    STATE(RECORD_TAKEN_OVER, "a thread gets the record of one that has ended")                               \
    STATE(RECORD_CHANGES_AS_COPIED, "a record changes while it is copied")                                   \
    /* classics/reached.c */                                                                                 \
    STATE(CLASSIC_STATE, "a state of the classic's")                                                         \
    STATE(CLASSIC_ALWAYS, "a state that no thread can be in")

typedef enum ex_state {
    EX_NO_STATE,
#define EX_STATE(name, sentence) EX_##name,
    EX_STATES(EX_STATE)
#undef EX_STATE
        EX_STATE_COUNT
} ex_state;

void ex_reach(ex_state state);
/* A mark is passed; the state is reached if its condition holds. */
void ex_pass(ex_state state, bool holds);

#endif
