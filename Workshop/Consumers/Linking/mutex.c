/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin with a copy of Interlock that has no reader–writer lock.
 */
#include <interlock/mutex.h>

void take_mutex(void);
void take_mutex(void) {
    static ilk_mutex mutex = ILK_MUTEX_INIT;
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
}
