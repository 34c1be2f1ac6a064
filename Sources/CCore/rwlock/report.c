/* SPDX-License-Identifier: Apache-2.0
 *
 * See report.h.
 */
#include "rwlock/report.h"

#include "diagnostics/misuse.h"
#include <stdio.h>

enum { STATE_TEXT_SIZE = 128 };

static const char *state_text(uint32_t word, char text[STATE_TEXT_SIZE]) {
    unsigned readers = (unsigned)((word & ILK__RWLOCK_READERS) / ILK__RWLOCK_ONE_READER);
    if ((word & ILK__RWLOCK_WRITER) != 0) {
        snprintf(text, STATE_TEXT_SIZE, "is held for writing");
    } else if ((word & ILK__RWLOCK_UPGRADABLE) != 0) {
        snprintf(text, STATE_TEXT_SIZE, "is held upgradable and by %u readers", readers);
    } else if (readers > 0) {
        snprintf(text, STATE_TEXT_SIZE, "is held by %u readers", readers);
    } else if ((word & ILK__RWLOCK_HAS_WAITERS) != 0) {
        snprintf(text, STATE_TEXT_SIZE, "is waited for");
    } else if ((word & ILK__RWLOCK_AWAITED) != 0) {
        snprintf(text, STATE_TEXT_SIZE, "is free, but a thread waits under it for a condition");
    } else {
        snprintf(text, STATE_TEXT_SIZE, "is free");
    }
    return text;
}

void ilk__rwlock_misuse(const char *call, const ilk_rwlock *lock, uint32_t word, const char *what) {
    char text[STATE_TEXT_SIZE];
    ilk__misuse(call, lock, "%s; the lock %s", what, state_text(word, text));
}

void ilk__rwlock_no_holder(const char *call, const ilk_rwlock *lock, uint32_t word, uint32_t held) {
    ilk__rwlock_misuse(call, lock, word,
                       held == ILK__RWLOCK_WRITER       ? "no writer holds the lock"
                       : held == ILK__RWLOCK_UPGRADABLE ? "no thread holds the lock upgradable"
                                                        : "no reader holds the lock");
}
