/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for the objects that can wait, which reports of misuse show beside the address.
 *
 *     #include <interlock/diagnostics.h>
 *     #include <interlock/rwlock.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         static ilk_rwlock lock = ILK_RWLOCK_INIT;
 *         char name[ILK_NAME_SIZE];
 *         if (ilk_set_name(&lock, "orders") != ILK_OK) return 1;
 *         if (ilk_get_name(&lock, name, sizeof name)) puts(name); // prints orders
 *         ilk_rwlock_destroy(&lock); // takes the name away
 *         return ilk_get_name(&lock, name, sizeof name) ? 1 : 0;
 *     }
 *
 * Misuse (an unlock of what is not held, an element of the wrong size …) is reported as one sentence on
 * standard error and ends in abort:
 *     interlock: ilk_rwlock_write_unlock(0x7ffd5a2c "orders"): no writer holds the lock; the lock is free
 *
 * A child of fork has all names, and can give and ask for them, whatever other threads were doing.
 */
#ifndef INTERLOCK_DIAGNOSTICS_H
#define INTERLOCK_DIAGNOSTICS_H

#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stddef.h>

ILK_BEGIN_DECLARATIONS

/* The longest name kept, with its final zero. */
#define ILK_NAME_SIZE 64

/* Names `object` (a lock, ring, semaphore …), in place of an earlier name; cuts a longer one. NULL or ""
 * takes the name away, as the object's destroy call does; an object that has none is unnamed before its
 * memory goes. Any thread; may allocate and block briefly; not in signal handlers. O(1) on average.
 * ILK_NOMEM: the earlier name stands. */
ilk_status ilk_set_name(const void *object, const char *name);

/* Copies the name of `object` into `name`, of `size` bytes, cut as by strlcpy: true if it has one, else an
 * empty string. Any thread; may block briefly; not in signal handlers. */
bool ilk_get_name(const void *object, char *name, size_t size);

ILK_END_DECLARATIONS

#endif
