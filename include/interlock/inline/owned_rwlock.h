/* SPDX-License-Identifier: Apache-2.0
 *
 * An ilk_rwlock that knows the thread which holds it for writing or upgradable, for the Swift facade. A
 * thread that takes it again would wait for itself for ever; every build reports that first. It costs a write
 * three instructions, a read none.
 *
 * The holding thread writes the owner after it takes the lock and before it gives it up. So a thread that
 * reads its own token holds the lock; any other value says nothing, and no order is needed. The lock's
 * accesses are those of <interlock/inline/rwlock.h>. Not installed, like thread_access.h.
 */
#ifndef INTERLOCK_INLINE_OWNED_RWLOCK_H
#define INTERLOCK_INLINE_OWNED_RWLOCK_H

#include <interlock/inline/read_section.h>
#if defined(__APPLE__)
#include <pthread.h>
#endif

ILK_BEGIN_DECLARATIONS

/* All zero bits are a free lock. */
typedef struct ilk__owned_rwlock {
    ilk_rwlock lock; /* first: its address is the object's */
    ILK_ATOMIC(uintptr_t) owner;
} ilk__owned_rwlock;

/* Report a thread that would wait for itself, as misuse of `call`; else wait. */
ILK_COLD void ilk__owned_await_write(ilk__owned_rwlock *owned, const char *call);
ILK_COLD void ilk__owned_await_upgradable(ilk__owned_rwlock *owned, const char *call);
ILK_COLD ilk__read_section ilk__owned_await_read(ilk__owned_rwlock *owned, const char *call);

/* Not 0, and no other living thread's. */
#if defined(__APPLE__)
/* The builtin would read a register that Apple's systems use otherwise. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static inline uintptr_t ilk__thread_token(void) ILK_NONBLOCKING {
    return (uintptr_t)pthread_self();
}
ILK_TRUSTED_NONBLOCKING_END
#else
static inline uintptr_t ilk__thread_token(void) ILK_NONBLOCKING {
    return (uintptr_t)__builtin_thread_pointer();
}
#endif

/* The calling thread holds the lock for writing or upgradable from now on, or until now. */
ILK_ALWAYS_INLINE void ilk__owned_begin(ilk__owned_rwlock *owned) ILK_NONBLOCKING {
    /* OW1 relaxed: compared with the reader's own token, which no other thread writes. */
    ilk_atomic_store(&owned->owner, ilk__thread_token(), memory_order_relaxed);
}
ILK_ALWAYS_INLINE void ilk__owned_end(ilk__owned_rwlock *owned) ILK_NONBLOCKING {
    ilk_atomic_store(&owned->owner, 0, memory_order_relaxed); /* OW1 */
}

/* Takes the lock for writing; the calling thread is then the owner. */
ILK_ALWAYS_INLINE void ilk__owned_write_lock(ilk__owned_rwlock *owned, const char *call) {
    uint32_t word = ilk__rwlock_probe(&owned->lock);
    uint32_t held = word | ILK__RWLOCK_WRITER;
    if (ILK_UNLIKELY(!ilk__rwlock_is_idle(word)) ||
        ILK_UNLIKELY(!ilk__rwlock_enter(&owned->lock, word, held))) {
        ilk__owned_await_write(owned, call);
    } else if ((word & ILK__RWLOCK_SLOTS) != 0) {
        ilk__rwlock_drain(&owned->lock, held);
    }
    ilk__held_more(&owned->lock);
    ilk__owned_begin(owned);
}

ILK_ALWAYS_INLINE void ilk__owned_write_unlock(ilk__owned_rwlock *owned) {
    ilk__owned_end(owned);
    ilk_rwlock_write_unlock(&owned->lock);
}

/* Likewise. */
ILK_ALWAYS_INLINE void ilk__owned_upgradable_lock(ilk__owned_rwlock *owned, const char *call) {
    uint32_t word = ilk__rwlock_probe(&owned->lock);
    if (ILK_UNLIKELY(!ilk__rwlock_is_idle(word)) ||
        ILK_UNLIKELY(!ilk__rwlock_enter(&owned->lock, word, word | ILK__RWLOCK_UPGRADABLE))) {
        ilk__owned_await_upgradable(owned, call);
    }
    ilk__held_more(&owned->lock);
    ilk__owned_begin(owned);
}

ILK_ALWAYS_INLINE void ilk__owned_upgradable_unlock(ilk__owned_rwlock *owned) {
    ilk__owned_end(owned);
    ilk_rwlock_upgradable_unlock(&owned->lock);
}

/* Leaves the lock without owner: any reader's unlock gives it up. */
ILK_ALWAYS_INLINE void ilk__owned_downgrade(ilk__owned_rwlock *owned) {
    ilk__owned_end(owned);
    ilk_rwlock_downgrade(&owned->lock);
}

/* Begins a read section, as ilk__read_section_begin does. */
ILK_ALWAYS_INLINE ilk__read_section ilk__owned_read_lock(ilk__owned_rwlock *owned, const char *call) {
    ilk__read_section section;
    if (!ilk__read_section_try_begin(&owned->lock, &section)) {
        return ilk__owned_await_read(owned, call);
    }
    return section;
}

ILK_END_DECLARATIONS

#endif
