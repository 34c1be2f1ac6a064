/* SPDX-License-Identifier: Apache-2.0
 *
 * The waits of <interlock/inline/owned_rwlock.h>, once they are not for the calling thread.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/observe.h"
#include "rwlock/lock.h"
#include <interlock/inline/owned_rwlock.h>

static bool is_owner(const ilk__owned_rwlock *owned) {
    return ilk_atomic_load(&owned->owner, memory_order_relaxed) == ilk__thread_token(); /* OW1 */
}

static void require_another_owner(const ilk__owned_rwlock *owned, const char *call) {
    if (is_owner(owned)) {
        ilk__misuse(
            call, &owned->lock,
            "called from inside a write or upgradable section of the same lock: the thread would wait for "
            "itself for ever");
    }
}

ILK_NOINLINE void ilk__owned_await_write(ilk__owned_rwlock *owned, const char *call) {
    require_another_owner(owned, call);
    ilk__rwlock_lock_at(&owned->lock, ILK__WRITE, ILK__CALLER);
}

ILK_NOINLINE void ilk__owned_await_upgradable(ilk__owned_rwlock *owned, const char *call) {
    require_another_owner(owned, call);
    ilk__rwlock_lock_at(&owned->lock, ILK__UPGRADABLE, ILK__CALLER);
}

ILK_NOINLINE ilk__read_section ilk__owned_await_read(ilk__owned_rwlock *owned, const char *call) {
    /* Beside its own upgradable access a read waits only behind a writer, which may queue at any moment: the owner's
     * read does not wait, and is late then. */
    ilk__read_section section;
    const uint64_t deadline_ns = is_owner(owned) ? 0 : ILK_FOREVER;
    if (ilk__read_section_begin_at(&owned->lock, &section, deadline_ns, ILK__CALLER) != ILK_OK) {
        require_another_owner(owned, call);
    }
    return section;
}
