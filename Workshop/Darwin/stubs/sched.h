/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_yield(2). pthread_setaffinity_np and its kind do not exist.
 */
#ifndef INTERLOCK_STUB_SCHED_H
#define INTERLOCK_STUB_SCHED_H

int sched_yield(void);

#endif
