/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of what threads wait at, by four threads that do as they are told, against
 * models that know who must be inside and who must sleep after each step (support/fuzz.h). The next step
 * comes when the kernel says that all who must wait sleep, so that the order of arrival is known and the
 * model of who is next can be exact: for ilk_rwlock the rules of docs/rwlock.md, for ilk_semaphore first
 * come, first served. ilk_mutex promises no order: any one of those who wait may be next.
 *
 * What the model expects is waited for with a far bound only. What it does not expect, a wait that returns,
 * is seen at that step or a later one.
 *
 * Has been seen to fail on: readers that come in past a queued writer; a write that lets no readers in; a
 * writer that times out and leaves those it held back asleep; an upgradable beside another; an upgrade
 * beside readers; a signal that serves the last of the line; a mutex whose unlock wakes nobody; a barrier
 * whose late party stays counted; a latch that opens one early.
 */
#include "support/fuzz.h"
#include "support/rwlock_mode.h"
#include <interlock/barrier.h>
#include <interlock/latch.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The crew: threads that do one call after the other ---- */

enum { ACTORS = 4, LONGEST = 60 };
enum { IDLE, TOLD, CALLED };

struct actor;
typedef ilk_status actor_call(struct actor *actor);

struct actor {
    struct thread thread;
    struct stage orders; /* the number of calls asked for */
    actor_call *call;    /* NULL: end */
    void *object;
    uint64_t deadline_ns;
    bool last;         /* a barrier's answer */
    ilk_status status; /* of the last call */
    ILK_ATOMIC(int) phase;
};

struct crew {
    struct actor actors[ACTORS];
};

static void act(void *context) {
    struct actor *self = context;
    for (int number = 1;; number++) {
        stage_await(&self->orders, number);
        if (self->call == NULL) {
            return;
        }
        ilk_atomic_store(&self->phase, CALLED, memory_order_release);
        self->status = self->call(self);
        ilk_atomic_store(&self->phase, IDLE, memory_order_release);
    }
}

static struct crew *crew_make(void) {
    struct crew *crew = calloc(1, sizeof *crew);
    check(crew != NULL);
    for (int i = 0; i < ACTORS; i++) {
        crew->actors[i].orders = (struct stage)STAGE_INIT;
        thread_start(&crew->actors[i].thread, act, &crew->actors[i]);
    }
    return crew;
}

static void tell(struct actor *actor, actor_call *call, void *object, uint64_t deadline_ns) {
    actor->call = call;
    actor->object = object;
    actor->deadline_ns = deadline_ns;
    ilk_atomic_store(&actor->phase, TOLD, memory_order_release);
    stage_advance(&actor->orders);
}

static void crew_end(struct crew *crew) {
    for (int i = 0; i < ACTORS; i++) {
        tell(&crew->actors[i], NULL, NULL, 0);
        thread_join(&crew->actors[i].thread);
    }
    free(crew);
}

static bool is_idle(struct actor *actor) {
    return ilk_atomic_load(&actor->phase, memory_order_acquire) == IDLE;
}

static bool sleeps_inside(struct actor *actor) {
    return ilk_atomic_load(&actor->phase, memory_order_acquire) == CALLED && thread_sleeps(&actor->thread);
}

/* One play: the crew, which of its threads wait, and the object. */
struct scene {
    struct fuzz_play *play;
    struct crew *crew;
    void *object;
    bool waiting[ACTORS];
};

static uint64_t give_up_at(const struct fuzz_play *play) {
    return ilk_deadline_in_ns((play->shrinking ? UINT64_C(500) : UINT64_C(40000)) * 1000000);
}

static void breathe(int attempt) {
    if (attempt < 100) {
        sched_yield();
    } else {
        const struct timespec pause = {.tv_nsec = 50000};
        nanosleep(&pause, NULL); /* only to leave the processor: the loop decides */
    }
}

/* Until those who must wait sleep and the others have returned. */
static bool settles(struct scene *scene) {
    const uint64_t end = give_up_at(scene->play);
    for (int i = 0; i < ACTORS; i++) {
        struct actor *actor = &scene->crew->actors[i];
        for (int attempt = 0; !(scene->waiting[i] ? sleeps_inside(actor) : is_idle(actor)); attempt++) {
            if (scene->waiting[i] && is_idle(actor)) {
                return fuzz_mismatch(scene->play, "actor %d was to wait, and its call answered %s", i,
                                     ilk_status_name(actor->status));
            }
            if (ilk_now_ns() > end) {
                return fuzz_mismatch(scene->play, "actor %d was %s", i,
                                     scene->waiting[i] ? "to sleep and does not" : "to return and does not");
            }
            breathe(attempt);
        }
    }
    return true;
}

/* Makes the call, which must return at once, and have this answer. */
static bool answers(struct scene *scene, int number, actor_call *call, uint64_t deadline_ns,
                    ilk_status expected) {
    struct actor *actor = &scene->crew->actors[number];
    tell(actor, call, scene->object, deadline_ns);
    if (!settles(scene)) {
        return false;
    }
    if (actor->status != expected) {
        return fuzz_mismatch(scene->play, "actor %d: %s where %s was to come", number,
                             ilk_status_name(actor->status), ilk_status_name(expected));
    }
    return true;
}

/* Makes the call, which must wait. */
static bool waits(struct scene *scene, int number, actor_call *call) {
    tell(&scene->crew->actors[number], call, scene->object, ILK_FOREVER);
    scene->waiting[number] = true;
    return settles(scene);
}

/* A third of all limits is past, the others so short that they pass while nobody moves. */
static uint64_t short_limit(uint32_t argument) {
    return argument % 3 == 0 ? 0 : ilk_deadline_in_ns(100000 + argument % 400000);
}

/* How a verb comes: by the call that tries, with a limit that passes, or for as long as it takes. */
enum manner { TRIES, LIMITED, WAITS };

/* ---- ilk_rwlock ---- */

enum mode { NONE, READ, WRITE, UPGRADABLE };

static ilk_status busy_unless(bool taken) {
    return taken ? ILK_OK : ILK_TIMEDOUT;
}
static ilk_status read_try(struct actor *actor) {
    return busy_unless(ilk_rwlock_try_read_lock(actor->object));
}
static ilk_status read_until(struct actor *actor) {
    return ilk_rwlock_read_lock_until(actor->object, actor->deadline_ns);
}
static ilk_status read_wait(struct actor *actor) {
    ilk_rwlock_read_lock(actor->object);
    return ILK_OK;
}
static ilk_status write_try(struct actor *actor) {
    return busy_unless(ilk_rwlock_try_write_lock(actor->object));
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

/* Would a newcomer go straight in? */
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

/* Who comes in after a change: docs/rwlock.md, "Waiting". */
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
        /* Trying to write what one holds is no misuse, and fails. */
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
    if (manner == LIMITED) { /* it is as if it had not come: those it held back meanwhile came not */
        return answers(&m->scene, number, call, short_limit(argument), ILK_TIMEDOUT);
    }
    m->wants[number] = mode;
    if (mode != READ) {
        m->line[m->line_length++] = number;
    }
    return waits(&m->scene, number, call);
}

/* A writer with a limit holds readers back while it waits; when it gives up they are let in. Its wait is so
 * long that the reader, which is told once the writer sleeps, comes in time. */
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
    /* Held back or, if this machine is slow, not: it reads in the end, and the writer has timed out. */
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
        return true; /* where readers are in slots it lets those in that wait behind a writer, elsewhere not */
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

/* The crew is kept from one play to the next; after a mismatch it is left where it is. */
static struct crew *crew;

static bool play_rwlock(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    static const char *const modes[] = {"central", "slots", "fence-free"};
    uint64_t random = ~play->seed;
    crew = crew == NULL ? crew_make() : crew;
    ilk_rwlock *lock = calloc(1, sizeof *lock);
    check(lock != NULL);
    const unsigned choice = (unsigned)(fuzz_random(&random) % 32);
    const int mode = choice == 0 && membarrier_works() ? 2 : choice < 12 ? 1 : 0;
    snprintf(play->configuration, sizeof play->configuration, "%s", modes[mode]);
    if (mode == 2) {
        move_to_fence_free(lock);
    } else if (mode == 1) {
        move_to_slots(lock);
    }
    struct rwlock_model m = {.scene = {.play = play, .crew = crew, .object = lock}, .upgrading = -1};
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = rwlock_step(&m, steps[play->at]);
    }
    while (agreed && count_of(m.holds, NONE) < ACTORS) { /* all leave, those that wait once they are in */
        for (int i = 0; agreed && i < ACTORS; i++) {
            agreed = m.scene.waiting[i] || rwlock_leave(&m, i);
        }
    }
    if (!agreed) {
        crew = NULL;
        return false;
    }
    check(m.line_length == 0 && count_of(m.wants, NONE) == ACTORS);
    ilk_rwlock_destroy(lock); /* misuse if it is held or waited for */
    free(lock);
    return true;
}

/* ---- ilk_semaphore ---- */

static ilk_status permit_try(struct actor *actor) {
    return busy_unless(ilk_semaphore_try_wait(actor->object));
}
static ilk_status permit_until(struct actor *actor) {
    return ilk_semaphore_wait_until(actor->object, actor->deadline_ns);
}
static ilk_status permit_wait(struct actor *actor) {
    ilk_semaphore_wait(actor->object);
    return ILK_OK;
}

static actor_call *const permit_calls[] = {permit_try, permit_until, permit_wait};

struct semaphore_model {
    struct scene scene;
    uint32_t permits;
    int line[ACTORS];
    int line_length;
};

static bool semaphore_take(struct semaphore_model *m, int number, enum manner manner, uint32_t argument) {
    if (m->permits > 0) {
        m->permits--;
        uint64_t limit = manner == LIMITED && argument % 2 == 0 ? ILK_FOREVER : 0;
        return answers(&m->scene, number, permit_calls[manner], limit, ILK_OK);
    }
    if (manner == WAITS) {
        m->line[m->line_length++] = number;
        return waits(&m->scene, number, permit_wait);
    }
    return answers(&m->scene, number, permit_calls[manner], short_limit(argument), ILK_TIMEDOUT);
}

static bool semaphore_signal(struct semaphore_model *m, uint32_t permits) {
    int served = (uint32_t)m->line_length < permits ? m->line_length : (int)permits;
    for (int i = 0; i < served; i++) {
        m->scene.waiting[m->line[i]] = false;
    }
    m->line_length -= served;
    memmove(m->line, m->line + served, (size_t)m->line_length * sizeof *m->line);
    m->permits += permits - (uint32_t)served;
    ilk_semaphore_signal(m->scene.object, permits);
    return settles(&m->scene);
}

enum semaphore_verb { S_WAIT, S_SIGNAL };

static const struct fuzz_verb semaphore_verbs[] = {[S_WAIT] = {"wait", 8}, [S_SIGNAL] = {"signal", 3}};

static bool play_semaphore(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    crew = crew == NULL ? crew_make() : crew;
    ilk_semaphore *semaphore = calloc(1, sizeof *semaphore);
    check(semaphore != NULL);
    struct semaphore_model m = {.scene = {.play = play, .crew = crew, .object = semaphore}};
    m.permits = (uint32_t)(fuzz_random(&random) % 3);
    snprintf(play->configuration, sizeof play->configuration, "%u permits", (unsigned)m.permits);
    ilk_semaphore_init(semaphore, m.permits);
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        const uint32_t argument = steps[play->at].argument;
        const int number = (int)(argument % ACTORS);
        if (steps[play->at].verb == S_SIGNAL) {
            agreed = semaphore_signal(&m, argument % 4);
        } else if (!m.scene.waiting[number]) {
            agreed = semaphore_take(&m, number, (enum manner)(argument / ACTORS % 3), argument / ACTORS / 3);
        }
        if (agreed && ilk_semaphore_value(semaphore) != (int64_t)m.permits - m.line_length) {
            agreed =
                fuzz_mismatch(play, "value is %lld; %u permits are there, %d threads wait",
                              (long long)ilk_semaphore_value(semaphore), (unsigned)m.permits, m.line_length);
        }
    }
    if (agreed) {
        agreed = semaphore_signal(&m, ACTORS);
    }
    if (!agreed) {
        crew = NULL;
        return false;
    }
    ilk_semaphore_destroy(semaphore);
    free(semaphore);
    return true;
}

/* ---- ilk_mutex ---- */

static ilk_status mutex_try(struct actor *actor) {
    return busy_unless(ilk_mutex_try_lock(actor->object));
}
static ilk_status mutex_until(struct actor *actor) {
    return ilk_mutex_lock_until(actor->object, actor->deadline_ns);
}
static ilk_status mutex_wait(struct actor *actor) {
    ilk_mutex_lock(actor->object);
    return ILK_OK;
}
static ilk_status mutex_leave(struct actor *actor) {
    ilk_mutex_unlock(actor->object);
    return ILK_OK;
}

static actor_call *const mutex_calls[] = {mutex_try, mutex_until, mutex_wait};

struct mutex_model {
    struct scene scene;
    int owner; /* -1: free */
};

/* The owner leaves; one of those who wait, and no more than one, comes in. */
static bool mutex_hand_over(struct mutex_model *m) {
    struct scene *scene = &m->scene;
    int waiters = 0;
    for (int i = 0; i < ACTORS; i++) {
        waiters += scene->waiting[i] ? 1 : 0;
    }
    tell(&scene->crew->actors[m->owner], mutex_leave, scene->object, 0);
    m->owner = -1;
    const uint64_t end = give_up_at(scene->play);
    for (int attempt = 0; waiters > 0 && m->owner < 0; attempt++) {
        for (int i = 0; i < ACTORS && m->owner < 0; i++) {
            if (scene->waiting[i] && is_idle(&scene->crew->actors[i])) {
                scene->waiting[i] = false;
                m->owner = i;
            }
        }
        if (ilk_now_ns() > end) {
            return fuzz_mismatch(scene->play, "the mutex is free and %d threads wait", waiters);
        }
        breathe(attempt);
    }
    return settles(scene);
}

enum mutex_verb { M_LOCK, M_UNLOCK };

static const struct fuzz_verb mutex_verbs[] = {[M_LOCK] = {"lock", 5}, [M_UNLOCK] = {"unlock", 3}};

static bool mutex_step(struct mutex_model *m, struct fuzz_step step) {
    const int number = (int)(step.argument % ACTORS);
    const uint32_t rest = step.argument / ACTORS;
    if (step.verb == M_UNLOCK) {
        return m->owner < 0 || mutex_hand_over(m);
    }
    if (m->scene.waiting[number]) {
        return true;
    }
    const enum manner manner = (enum manner)(rest % 3);
    if (m->owner == number) { /* trying is no misuse, and fails */
        return manner != TRIES || answers(&m->scene, number, mutex_try, 0, ILK_TIMEDOUT);
    }
    if (m->owner < 0) {
        m->owner = number;
        return answers(&m->scene, number, mutex_calls[manner], rest % 2 == 0 ? ILK_FOREVER : 0, ILK_OK);
    }
    if (manner == WAITS) {
        return waits(&m->scene, number, mutex_wait);
    }
    return answers(&m->scene, number, mutex_calls[manner], short_limit(rest / 3), ILK_TIMEDOUT);
}

static bool play_mutex(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    crew = crew == NULL ? crew_make() : crew;
    ilk_mutex *mutex = calloc(1, sizeof *mutex);
    check(mutex != NULL);
    const bool inherits = fuzz_random(&random) % 2 == 0;
    snprintf(play->configuration, sizeof play->configuration, "%s", inherits ? "inheriting" : "plain");
    ilk_mutex_init(mutex, inherits);
    struct mutex_model m = {.scene = {.play = play, .crew = crew, .object = mutex}, .owner = -1};
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = mutex_step(&m, steps[play->at]);
    }
    while (agreed && m.owner >= 0) {
        agreed = mutex_hand_over(&m);
    }
    if (!agreed) {
        crew = NULL;
        return false;
    }
    free(mutex);
    return true;
}

/* ---- ilk_barrier ---- */

static ilk_status barrier_meet(struct actor *actor) {
    actor->last = ilk_barrier_wait(actor->object);
    return ILK_OK;
}
static ilk_status barrier_meet_until(struct actor *actor) {
    return ilk_barrier_wait_until(actor->object, actor->deadline_ns, &actor->last);
}

static const struct fuzz_verb barrier_verbs[] = {{"wait", 2}, {"wait_until", 1}};

static bool barrier_step(struct scene *scene, int parties, struct fuzz_step step) {
    const int number = (int)(step.argument % ACTORS);
    if (scene->waiting[number]) {
        return true;
    }
    actor_call *call = step.verb == 0 ? barrier_meet : barrier_meet_until;
    int arrived = 0;
    for (int i = 0; i < ACTORS; i++) {
        arrived += scene->waiting[i] ? 1 : 0;
    }
    if (arrived + 1 == parties) {
        bool met[ACTORS];
        memcpy(met, scene->waiting, sizeof met);
        memset(scene->waiting, 0, sizeof scene->waiting);
        if (!answers(scene, number, call, short_limit(step.argument) * (step.argument % 2), ILK_OK)) {
            return false;
        }
        for (int i = 0; i < ACTORS; i++) {
            if ((met[i] || i == number) && scene->crew->actors[i].last != (i == number)) {
                return fuzz_mismatch(scene->play,
                                     "actor %d of the round, which ended with actor %d, is told %d", i,
                                     number, scene->crew->actors[i].last);
            }
        }
        return true;
    }
    if (call == barrier_meet) {
        return waits(scene, number, call);
    }
    return answers(scene, number, call, short_limit(step.argument), ILK_TIMEDOUT);
}

static bool play_barrier(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    crew = crew == NULL ? crew_make() : crew;
    ilk_barrier *barrier = calloc(1, sizeof *barrier);
    check(barrier != NULL);
    const int parties = 1 + (int)(fuzz_random(&random) % ACTORS);
    snprintf(play->configuration, sizeof play->configuration, "%d parties", parties);
    ilk_barrier_init(barrier, (uint32_t)parties);
    struct scene scene = {.play = play, .crew = crew, .object = barrier};
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = barrier_step(&scene, parties, steps[play->at]);
    }
    for (int i = 0; agreed && i < ACTORS; i++) { /* the rest of the round comes */
        bool anybody = false;
        for (int other = 0; other < ACTORS; other++) {
            anybody = anybody || scene.waiting[other];
        }
        agreed = !anybody || barrier_step(&scene, parties, (struct fuzz_step){0, (uint32_t)i});
    }
    if (!agreed) {
        crew = NULL;
        return false;
    }
    free(barrier);
    return true;
}

/* ---- ilk_latch ---- */

static ilk_status latch_try(struct actor *actor) {
    return busy_unless(ilk_latch_try_wait(actor->object));
}
static ilk_status latch_until(struct actor *actor) {
    return ilk_latch_wait_until(actor->object, actor->deadline_ns);
}

enum latch_verb { L_COUNT_DOWN, L_WAIT };

static const struct fuzz_verb latch_verbs[] = {[L_COUNT_DOWN] = {"count_down", 1}, [L_WAIT] = {"wait", 3}};

static bool latch_step(struct scene *scene, uint32_t *left, struct fuzz_step step) {
    const int number = (int)(step.argument % ACTORS);
    const uint32_t rest = step.argument / ACTORS;
    if (step.verb == L_COUNT_DOWN) {
        if (*left == 0) {
            return true;
        }
        *left -= 1;
        if (*left == 0) {
            memset(scene->waiting, 0, sizeof scene->waiting);
        }
        ilk_latch_count_down(scene->object);
        return settles(scene);
    }
    if (scene->waiting[number]) {
        return true;
    }
    const enum manner manner = (enum manner)(rest % 3);
    if (*left == 0) {
        return answers(scene, number, manner == TRIES ? latch_try : latch_until, 0, ILK_OK);
    }
    if (manner == WAITS) {
        return waits(scene, number, latch_until);
    }
    return answers(scene, number, manner == TRIES ? latch_try : latch_until, short_limit(rest / 3),
                   ILK_TIMEDOUT);
}

static bool play_latch(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    crew = crew == NULL ? crew_make() : crew;
    ilk_latch *latch = calloc(1, sizeof *latch);
    check(latch != NULL);
    uint32_t left = (uint32_t)(fuzz_random(&random) % 5);
    snprintf(play->configuration, sizeof play->configuration, "a count of %u", (unsigned)left);
    ilk_latch_init(latch, left);
    struct scene scene = {.play = play, .crew = crew, .object = latch};
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = latch_step(&scene, &left, steps[play->at]);
        if (agreed && ilk_latch_count(latch) != left) {
            agreed = fuzz_mismatch(play, "count is %u and not %u", (unsigned)ilk_latch_count(latch),
                                   (unsigned)left);
        }
    }
    while (agreed && left > 0) {
        agreed = latch_step(&scene, &left, (struct fuzz_step){L_COUNT_DOWN, 0});
    }
    if (!agreed) {
        crew = NULL;
        return false;
    }
    free(latch);
    return true;
}

/* ---- */

#define SIZE_OF(array) (sizeof(array) / sizeof *(array))

static void run(const char *name, const struct fuzz_verb *verbs, size_t verb_count,
                bool (*play)(struct fuzz_play *, const struct fuzz_step *, size_t)) {
    const struct fuzz_driver driver = {name, verbs, verb_count, LONGEST, play};
    fuzz_run(&driver);
    crew_end(crew);
    crew = NULL;
}

static void every_verb_of_rwlock_agrees_with_a_model(void **state) {
    (void)state;
    run("fuzz_locks: rwlock", rwlock_verbs, SIZE_OF(rwlock_verbs), play_rwlock);
}
static void every_verb_of_semaphore_agrees_with_a_model(void **state) {
    (void)state;
    run("fuzz_locks: semaphore", semaphore_verbs, SIZE_OF(semaphore_verbs), play_semaphore);
}
static void every_verb_of_mutex_agrees_with_a_model(void **state) {
    (void)state;
    run("fuzz_locks: mutex", mutex_verbs, SIZE_OF(mutex_verbs), play_mutex);
}
static void every_verb_of_barrier_agrees_with_a_model(void **state) {
    (void)state;
    run("fuzz_locks: barrier", barrier_verbs, SIZE_OF(barrier_verbs), play_barrier);
}
static void every_verb_of_latch_agrees_with_a_model(void **state) {
    (void)state;
    run("fuzz_locks: latch", latch_verbs, SIZE_OF(latch_verbs), play_latch);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_verb_of_rwlock_agrees_with_a_model),
    cmocka_unit_test(every_verb_of_semaphore_agrees_with_a_model),
    cmocka_unit_test(every_verb_of_mutex_agrees_with_a_model),
    cmocka_unit_test(every_verb_of_barrier_agrees_with_a_model),
    cmocka_unit_test(every_verb_of_latch_agrees_with_a_model),
};

TEST_MAIN(tests)
