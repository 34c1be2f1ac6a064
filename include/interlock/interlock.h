/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything at once. status.h says what calls answer and deadline.h how time is given; park.h is the
 * layer all waiting rests on; rwlock.h, semaphore.h, latch.h, barrier.h and mutex.h are what threads
 * wait for; spsc.h and mpmc.h are rings that hand data from thread to thread, and notify.h is how an
 * event loop waits for one; diagnostics.h names objects for reports. Each can be included alone.
 *
 * A child of fork finds an object as it was if no other thread held it, waited for it or was in a call on it.
 * docs/fork.md says what it may do with the others; rwlock.h and mutex.h promise more.
 */
#ifndef INTERLOCK_INTERLOCK_H
#define INTERLOCK_INTERLOCK_H

#include <interlock/barrier.h>
#include <interlock/deadline.h>
#include <interlock/diagnostics.h>
#include <interlock/latch.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/notify.h>
#include <interlock/park.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <interlock/status.h>

#endif
