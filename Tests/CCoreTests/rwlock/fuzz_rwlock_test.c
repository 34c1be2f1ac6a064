/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of ilk_rwlock against a model of its waiting rules (docs/rwlock.md), which
 * knows after each step which threads are inside and which sleep (support/fuzz_crew.h).
 *
 * Has been seen to fail on: readers that come in past a queued writer; a write that lets no readers in; a
 * timed-out writer that leaves the readers it held back asleep; an upgradable beside another; an upgrade
 * beside readers.
 */
#include "support/fuzz_crew.h"
#include "support/rwlock_mode.h"
#include <interlock/rwlock.h>
#include <stdio.h>
#include <stdlib.h>

enum mode { NONE, READ, WRITE, UPGRADABLE };

static ilk_status read_try(struct actor *actor) {
    return answer_of_try(ilk_rwlock_try_read_lock(actor->object));
}

static ilk_status read_until(struct actor *actor) {
    return ilk_rwlock_read_lock_until(actor->object, actor->deadline_ns);
}

static ilk_status read_wait(struct actor *actor) {
    ilk_rwlock_read_lock(actor->object);
    return ILK_OK;
}

static ilk_status write_try(struct actor *actor) {
    return answer_of_try(ilk_rwlock_try_write_lock(actor->object));
}

static ilk_status write_until(struct actor *actor) {
    return ilk_rwlock_write_lock_until(actor->object, actor->deadline_ns);
}

static ilk_status write_wait(struct actor *actor) {
    ilk_rwlock_write_lock(actor->object);
    return ILK_OK;
}

static ilk_status upgradable_until(struct actor *actor) {
    return ilk_rwlock_upgradable_lock_until(actor->object, actor->deadline_ns);
}

static ilk_status upgradable_wait(struct actor *actor) {
    ilk_rwlock_upgradable_lock(actor->object);
    return ILK_OK;
}

static ilk_status read_leave(struct actor *actor) {
    ilk_rwlock_read_unlock(actor->object);
    return ILK_OK;
}

static ilk_status write_leave(struct actor *actor) {
    ilk_rwlock_write_unlock(actor->object);
    return ILK_OK;
}

static ilk_status upgradable_leave(struct actor *actor) {
    ilk_rwlock_upgradable_unlock(actor->object);
    return ILK_OK;
}

static ilk_status downgrade(struct actor *actor) {
    ilk_rwlock_downgrade(actor->object);
    return ILK_OK;
}

static ilk_status upgrade(struct actor *actor) {
    ilk_rwlock_upgrade(actor->object);
    return ILK_OK;
}

static ilk_status upgrade_until(struct actor *actor) {
    return ilk_rwlock_upgrade_until(actor->object, actor->deadline_ns);
}

static actor_call *const rwlock_calls[4][3] = {
    [READ] = {read_try, read_until, read_wait},
    [WRITE] = {write_try, write_until, write_wait},
    [UPGRADABLE] = {upgradable_until, upgradable_until, upgradable_wait}, /* there is no try */
};

struct rwlock_model {
    struct scene scene;
    enum mode holds[ACTORS], wants[ACTORS];
    int line[ACTORS]; /* writers and upgradables that wait, oldest first */
    int line_length;
    int upgrading; /* the actor whose upgrade waits; -1: none */
};

static int count_of(const enum mode *modes, enum mode mode) {
    int count = 0;
    for (int i = 0; i < ACTORS; i++) {
        count += modes[i] == mode ? 1 : 0;
    }
    return count;
}

static bool writer_waits(const struct rwlock_model *m) {
    return count_of(m->wants, WRITE) > 0;
}

/* Would a newcomer get in at once? */
static bool goes_in(const struct rwlock_model *m, enum mode mode) {
    if (count_of(m->holds, WRITE) > 0) {
        return false;
    }
    switch (mode) {
    case READ:
        return !writer_waits(m) && m->upgrading < 0;
    case UPGRADABLE:
        return count_of(m->holds, UPGRADABLE) == 0 && m->line_length == 0;
    default:
        return count_of(m->holds, NONE) == ACTORS && m->line_length == 0;
    }
}

static void let_in(struct rwlock_model *m, int number) {
    m->holds[number] = m->wants[number];
    m->wants[number] = NONE;
    m->scene.waiting[number] = false;
}

static void leave_line(struct rwlock_model *m, int number) {
    int kept = 0;
    for (int i = 0; i < m->line_length; i++) {
        if (m->line[i] != number) {
            m->line[kept++] = m->line[i];
        }
    }
    m->line_length = kept;
}

/* Admits after a change, by the rules of docs/rwlock.md, "Waiting". */
static void admit(struct rwlock_model *m, bool after_write) {
    if (m->upgrading >= 0) {
        if (count_of(m->holds, READ) == 0) {
            m->holds[m->upgrading] = WRITE;
            m->scene.waiting[m->upgrading] = false;
            m->upgrading = -1;
        }
        return;
    }
    if (count_of(m->holds, WRITE) > 0) {
        return;
    }
    bool readers_come = count_of(m->wants, READ) > 0 && (after_write || !writer_waits(m));
    int first = m->line_length > 0 ? m->line[0] : -1;
    if (first >= 0) {
        bool fits = m->wants[first] == UPGRADABLE ? count_of(m->holds, UPGRADABLE) == 0
                                                  : count_of(m->holds, NONE) == ACTORS && !readers_come;
        if (fits) {
            leave_line(m, first);
            let_in(m, first);
        }
    }
    for (int i = 0; readers_come && i < ACTORS; i++) {
        if (m->wants[i] == READ) {
            let_in(m, i);
        }
    }
}

static bool rwlock_take(struct rwlock_model *m, int number, enum mode mode, enum manner manner,
                        uint32_t argument) {
    actor_call *call = rwlock_calls[mode][manner];
    if (m->holds[number] != NONE) {
        /* A try to write by a holder is no misuse, and fails. */
        return mode != WRITE || manner != TRIES || answers(&m->scene, number, call, 0, ILK_TIMEDOUT);
    }
    if (goes_in(m, mode)) {
        m->holds[number] = mode;
        uint64_t limit = manner == LIMITED && argument % 2 == 0 ? ILK_FOREVER : 0;
        return answers(&m->scene, number, call, limit, ILK_OK);
    }
    if (manner == TRIES) {
        return answers(&m->scene, number, call, 0, ILK_TIMEDOUT);
    }
    if (manner == LIMITED) { /* as if it had not come */
        return answers(&m->scene, number, call, short_limit(argument), ILK_TIMEDOUT);
    }
    m->wants[number] = mode;
    if (mode != READ) {
        m->line[m->line_length++] = number;
    }
    return waits(&m->scene, number, call);
}

/* Its wait is so long that the reader, which is told once the writer sleeps, comes in time. */
static bool rwlock_late_writer(struct rwlock_model *m, int number, int reader) {
    if (m->holds[number] != NONE || m->holds[reader] != NONE || m->wants[number] != NONE ||
        m->wants[reader] != NONE || number == reader || count_of(m->holds, READ) == 0 || writer_waits(m) ||
        m->upgrading >= 0) {
        return true;
    }
    struct actor *writer = &m->scene.crew->actors[number];
    tell(writer, write_until, m->scene.object, ilk_deadline_in_ns(20000000));
    m->scene.waiting[number] = true;
    const uint64_t end = give_up_at(m->scene.play);
    for (int attempt = 0; !sleeps_inside(writer) && !is_idle(writer); attempt++) {
        if (ilk_now_ns() > end) {
            return fuzz_mismatch(m->scene.play, "actor %d was to sleep and does not", number);
        }
        breathe(attempt);
    }
    /* On a slow machine it is not held back: it reads in the end, and the writer has timed out. */
    m->scene.waiting[number] = false;
    m->holds[reader] = READ;
    if (!answers(&m->scene, reader, read_wait, 0, ILK_OK)) {
        return false;
    }
    if (writer->status != ILK_TIMEDOUT) {
        return fuzz_mismatch(m->scene.play, "actor %d writes beside readers", number);
    }
    return true;
}

static bool rwlock_leave(struct rwlock_model *m, int number) {
    enum mode held = m->holds[number];
    if (held == NONE || m->upgrading == number) {
        return true;
    }
    m->holds[number] = NONE;
    admit(m, held == WRITE);
    return answers(&m->scene, number,
                   held == READ    ? read_leave
                   : held == WRITE ? write_leave
                                   : upgradable_leave,
                   0, ILK_OK);
}

static bool rwlock_downgrade(struct rwlock_model *m, int number) {
    if (m->holds[number] != WRITE) {
        return true;
    }
    m->holds[number] = READ;
    admit(m, true);
    return answers(&m->scene, number, downgrade, 0, ILK_OK);
}

static bool rwlock_upgrade(struct rwlock_model *m, int number, enum manner manner, uint32_t argument) {
    if (m->holds[number] != UPGRADABLE || m->upgrading == number) {
        return true;
    }
    if (count_of(m->holds, READ) == 0) {
        m->holds[number] = WRITE;
        return answers(&m->scene, number, manner == LIMITED ? upgrade_until : upgrade, 0, ILK_OK);
    }
    if (manner == LIMITED && count_of(m->wants, READ) > 0) {
        return true; /* depends on the reader mode, if readers wait behind a writer */
    }
    if (manner == LIMITED) {
        return answers(&m->scene, number, upgrade_until, short_limit(argument), ILK_TIMEDOUT);
    }
    m->upgrading = number;
    return waits(&m->scene, number, upgrade);
}

enum rwlock_verb { R_READ, R_WRITE, R_UPGRADABLE, R_LEAVE, R_DOWNGRADE, R_UPGRADE, R_LATE_WRITER };

static const struct fuzz_verb rwlock_verbs[] = {
    [R_READ] = {"read", 10},
    [R_WRITE] = {"write", 7},
    [R_UPGRADABLE] = {"upgradable", 5},
    [R_LEAVE] = {"leave", 16},
    [R_DOWNGRADE] = {"downgrade", 4},
    [R_UPGRADE] = {"upgrade", 5},
    [R_LATE_WRITER] = {"late_writer", 1},
};

static bool rwlock_step(struct rwlock_model *m, struct fuzz_step step) {
    const int number = (int)(step.argument % ACTORS);
    const uint32_t rest = step.argument / ACTORS;
    if (m->scene.waiting[number]) {
        return true;
    }
    const enum manner manner = (enum manner)(rest % 3);
    switch ((enum rwlock_verb)step.verb) {
    case R_READ:
        return rwlock_take(m, number, READ, manner, rest / 3);
    case R_WRITE:
        return rwlock_take(m, number, WRITE, manner, rest / 3);
    case R_UPGRADABLE:
        return rwlock_take(m, number, UPGRADABLE, manner, rest / 3);
    case R_LEAVE:
        return rwlock_leave(m, number);
    case R_DOWNGRADE:
        return rwlock_downgrade(m, number);
    case R_UPGRADE:
        return rwlock_upgrade(m, number, manner, rest / 3);
    case R_LATE_WRITER:
        return rwlock_late_writer(m, number, (int)(rest % ACTORS));
    }
    return true;
}

static bool play_rwlock(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    enum reader_mode { CENTRAL, SLOTS, FENCE_FREE };
    static const char *const modes[] = {
        [CENTRAL] = "central", [SLOTS] = "slots", [FENCE_FREE] = "fence-free"};
    uint64_t random = ~play->seed;
    ilk_rwlock *lock = calloc(1, sizeof *lock);
    check(lock != NULL);
    const unsigned choice = (unsigned)(fuzz_random(&random) % 32);
    const enum reader_mode mode = choice == 0 && membarrier_works() ? FENCE_FREE
                                  : choice < 12                     ? SLOTS
                                                                    : CENTRAL;
    snprintf(play->configuration, sizeof play->configuration, "%s", modes[mode]);
    if (mode == FENCE_FREE) {
        move_to_fence_free(lock);
    } else if (mode == SLOTS) {
        move_to_slots(lock);
    }
    struct rwlock_model m = {.scene = scene_of(play, lock), .upgrading = -1};
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = rwlock_step(&m, steps[play->at]);
    }
    while (agreed && count_of(m.holds, NONE) < ACTORS) { /* all leave, the waiting ones once they are in */
        for (int i = 0; agreed && i < ACTORS; i++) {
            agreed = m.scene.waiting[i] || rwlock_leave(&m, i);
        }
    }
    if (!agreed) {
        crew_abandon();
        return false;
    }
    check(m.line_length == 0 && count_of(m.wants, NONE) == ACTORS);
    ilk_rwlock_destroy(lock); /* misuse if held or waited for */
    free(lock);
    return true;
}
/* contract: ilk_rwlock_upgrade, rwlock.A */
TEST(every_verb_of_rwlock_agrees_with_a_model) {
    fuzz_with_crew("fuzz_locks: rwlock", rwlock_verbs, sizeof rwlock_verbs / sizeof *rwlock_verbs,
                   play_rwlock);
}
