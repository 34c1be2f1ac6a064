/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the calls of <interlock/diagnostics.h> among uses of locks, semaphores and rings, by one thread,
 * against a model: names, what is on, and counted acquisitions of what its own call has had watched. A waiting call
 * asks only for what stands behind all that is held, so a report of an order is false.
 *
 * Has been seen to fail on: a name cut within a character; figures that a reset leaves; a try_ call that is not
 * counted, or that adds an order; a quote in a name that JSON has as it is.
 */
#include "diagnostics/reports.h"
#include "support/fuzz.h"
#include <interlock/mpmc.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <signal.h>

enum { RWLOCK, PLAIN_RWLOCK, MUTEX, INHERITING, SEMAPHORE, BARGING, SPSC, MPMC, OBJECTS, LOCKS = SPSC };
enum { LONGEST_NAME = 80, CAPACITY = 4 };

static const ilk_object_kind kinds[OBJECTS] = {
    [RWLOCK] = ILK_OBJECT_RWLOCK,       [PLAIN_RWLOCK] = ILK_OBJECT_RWLOCK,
    [MUTEX] = ILK_OBJECT_MUTEX,         [INHERITING] = ILK_OBJECT_MUTEX,
    [SEMAPHORE] = ILK_OBJECT_SEMAPHORE, [BARGING] = ILK_OBJECT_SEMAPHORE,
    [SPSC] = ILK_OBJECT_SPSC,           [MPMC] = ILK_OBJECT_MPMC};

enum hold { FREE, READS, HOLDS };

struct object {
    union {
        ilk_rwlock rwlock;
        ilk_mutex mutex;
        ilk_semaphore semaphore;
        ilk_spsc *spsc;
        ilk_mpmc *mpmc;
    } of;
    enum hold hold;
    uint32_t own;    /* bits of its own call */
    bool is_counted; /* from a moment at which it was free, and watched by its own call since */
    uint64_t taken;  /* since then, or a reset */
    char name[ILK_NAME_SIZE];
};

static struct object objects[OBJECTS];
static unsigned false_reports;

static void count_report(const ilk_report *report, void *unused) {
    (void)report, (void)unused;
    false_reports++;
}

/* ---- What each kind does ---- */

static const void *address_of(int number) {
    const struct object *object = &objects[number];
    return number == SPSC   ? (const void *)object->of.spsc
           : number == MPMC ? (const void *)object->of.mpmc
                            : &object->of;
}

static void make(int number) {
    struct object *object = &objects[number];
    *object = (struct object){.hold = FREE};
    switch (number) {
    case RWLOCK:
        ilk_rwlock_init(&object->of.rwlock);
        break;
    case PLAIN_RWLOCK:
        ilk_rwlock_init_plain(&object->of.rwlock);
        break;
    case MUTEX:
    case INHERITING:
        ilk_mutex_init(&object->of.mutex, number == INHERITING);
        break;
    case SEMAPHORE:
        ilk_semaphore_init(&object->of.semaphore, 1);
        break;
    case BARGING:
        ilk_semaphore_init_barging(&object->of.semaphore, 1);
        break;
    case SPSC:
        check_equal(ilk_spsc_create(&object->of.spsc, CAPACITY, 1), ILK_OK);
        break;
    default:
        check_equal(ilk_mpmc_create(&object->of.mpmc, CAPACITY, 1), ILK_OK);
        break;
    }
}

static void end(int number) {
    struct object *object = &objects[number];
    switch (number) {
    case RWLOCK:
    case PLAIN_RWLOCK:
        ilk_rwlock_destroy(&object->of.rwlock);
        break;
    case MUTEX:
    case INHERITING:
        check_equal(ilk_set_name(&object->of.mutex, NULL), ILK_OK);
        break;
    case SEMAPHORE:
    case BARGING:
        ilk_semaphore_destroy(&object->of.semaphore);
        break;
    case SPSC:
        ilk_spsc_destroy(object->of.spsc);
        break;
    default:
        ilk_mpmc_destroy(object->of.mpmc);
        break;
    }
}

static ilk_status observe(int number, uint32_t what) {
    struct object *object = &objects[number];
    switch (number) {
    case RWLOCK:
    case PLAIN_RWLOCK:
        return ilk_rwlock_observe(&object->of.rwlock, what);
    case MUTEX:
    case INHERITING:
        return ilk_mutex_observe(&object->of.mutex, what);
    case SEMAPHORE:
    case BARGING:
        return ilk_semaphore_observe(&object->of.semaphore, what);
    case SPSC:
        return ilk_spsc_observe(object->of.spsc, what);
    default:
        return ilk_mpmc_observe(object->of.mpmc, what);
    }
}

/* The object is free, or read and is to be read once more. `tries`: by a call that does not wait. */
static bool take(int number, bool reads, bool tries, bool has_limit) {
    struct object *object = &objects[number];
    const uint64_t limit = has_limit ? ilk_deadline_in_ns(UINT64_C(1000000000)) : ILK_FOREVER;
    switch (number) {
    case RWLOCK:
    case PLAIN_RWLOCK:
        if (reads) {
            return tries ? ilk_rwlock_try_read_lock(&object->of.rwlock)
                         : ilk_rwlock_read_lock_until(&object->of.rwlock, limit) == ILK_OK;
        }
        return tries ? ilk_rwlock_try_write_lock(&object->of.rwlock)
                     : ilk_rwlock_write_lock_until(&object->of.rwlock, limit) == ILK_OK;
    case MUTEX:
    case INHERITING:
        return tries ? ilk_mutex_try_lock(&object->of.mutex)
                     : ilk_mutex_lock_until(&object->of.mutex, limit) == ILK_OK;
    default:
        return tries ? ilk_semaphore_try_wait(&object->of.semaphore)
                     : ilk_semaphore_wait_until(&object->of.semaphore, limit) == ILK_OK;
    }
}

static void give(int number) {
    struct object *object = &objects[number];
    if (number == MUTEX || number == INHERITING) {
        ilk_mutex_unlock(&object->of.mutex);
    } else if (number == SEMAPHORE || number == BARGING) {
        ilk_semaphore_signal(&object->of.semaphore, 1);
    } else if (object->hold == READS) {
        ilk_rwlock_read_unlock(&object->of.rwlock);
    } else {
        ilk_rwlock_write_unlock(&object->of.rwlock);
    }
    object->hold = FREE;
}

/* ---- Names ---- */

static const char *const letters[] = {"a", "Z", " ", "\"", "\\", "\n", "\t", "\x01", "é", "→", "𝄞", "<"};

/* Of whole characters, of `length` bytes at most. */
static void random_name(char name[LONGEST_NAME + 1], size_t length, uint64_t *random) {
    size_t at = 0;
    for (;;) {
        const char *letter = letters[fuzz_random(random) % (sizeof letters / sizeof *letters)];
        if (at + strlen(letter) > length) {
            break;
        }
        memcpy(name + at, letter, strlen(letter));
        at += strlen(letter);
    }
    name[at] = '\0';
}

/* What is kept of `name`: 63 bytes at most, of whole characters. */
static void keep_name(struct object *object, const char *name) {
    size_t length = strlen(name);
    if (length > ILK_NAME_SIZE - 1) {
        length = ILK_NAME_SIZE - 1;
        while (((unsigned char)name[length] & 0xC0) == 0x80) {
            length--;
        }
    }
    memcpy(object->name, name, length);
    object->name[length] = '\0';
}

static bool names_agree(struct fuzz_play *play, int number, size_t size) {
    char found[LONGEST_NAME + 1];
    memset(found, '#', sizeof found);
    const struct object *object = &objects[number];
    const bool is_named = ilk_get_name(address_of(number), found, size);
    if (is_named != (object->name[0] != '\0') || found[size] != '#' || strnlen(found, size) == size ||
        strncmp(found, object->name, size - 1) != 0) {
        return fuzz_mismatch(play, "object %d: the name of %zu bytes is \"%.*s\", not \"%s\"", number, size,
                             (int)size, found, object->name);
    }
    return true;
}

/* ---- Figures ---- */

static bool figures_agree(struct fuzz_play *play) {
    static ilk_figures figures[OBJECTS];
    const size_t count = ilk_figures_snapshot(figures, OBJECTS);
    bool is_seen[OBJECTS] = {false};
    for (size_t index = 0; index < count && index < OBJECTS; index++) {
        const ilk_figures *one = &figures[index];
        int number = 0;
        while (number < OBJECTS && address_of(number) != one->object) {
            number++;
        }
        if (number == OBJECTS || is_seen[number]) {
            return fuzz_mismatch(play, "figures of %p, which is no object, or is twice", one->object);
        }
        is_seen[number] = true;
        const struct object *object = &objects[number];
        if (one->kind != kinds[number] || strcmp(one->name, object->name) != 0) {
            return fuzz_mismatch(play, "object %d: figures of %s \"%s\", not \"%s\"", number,
                                 ilk_object_kind_name(one->kind), one->name, object->name);
        }
        if (number >= LOCKS && one->capacity != CAPACITY) {
            return fuzz_mismatch(play, "object %d: a capacity of %llu", number,
                                 (unsigned long long)one->capacity);
        }
        if (number < LOCKS && object->is_counted && one->acquisitions != object->taken) {
            return fuzz_mismatch(play, "object %d: %llu acquisitions, not %llu", number,
                                 (unsigned long long)one->acquisitions, (unsigned long long)object->taken);
        }
        uint64_t waits = 0;
        for (uint32_t bucket = 0; bucket < ILK_HISTOGRAM_BUCKETS; bucket++) {
            waits += one->wait.buckets[bucket];
        }
        if (waits != one->wait.count || (waits != 0 && number < LOCKS)) {
            return fuzz_mismatch(play, "object %d: %llu waits of no other thread", number,
                                 (unsigned long long)waits);
        }
    }
    for (int number = 0; number < OBJECTS; number++) {
        if (!is_seen[number] && objects[number].own != 0) {
            return fuzz_mismatch(play, "object %d is watched, and has no figures", number);
        }
    }
    return true;
}

/* ---- Reports ---- */

/* Whether strings have no character that JSON has not, and braces and brackets are closed by their own. */
static bool is_closed(const char *text) {
    char open[32];
    size_t depth = 0;
    bool is_in_string = false;
    for (; *text != '\0'; text++) {
        if (is_in_string && *text == '\\') {
            text++;
            if (*text == '\0' || strchr("\"\\/bfnrtu", *text) == NULL) {
                return false;
            }
        } else if (is_in_string) {
            if ((unsigned char)*text < ' ') {
                return false;
            }
            is_in_string = *text != '"';
        } else if (*text == '"') {
            is_in_string = true;
        } else if (*text == '{' || *text == '[') {
            if (depth == sizeof open) {
                return false;
            }
            open[depth++] = *text == '{' ? '}' : ']';
        } else if ((*text == '}' || *text == ']') && (depth == 0 || open[--depth] != *text)) {
            return false;
        }
    }
    return depth == 0 && !is_in_string;
}

static bool writes(struct fuzz_play *play, uint32_t argument) {
    const ilk_diagnosis_form form = (ilk_diagnosis_form)(argument % 3);
    const char *text = diagnosis(form);
    if (form == ILK_AS_JSON && !is_closed(text)) {
        return fuzz_mismatch(play, "a report of %zu bytes is no JSON", strlen(text));
    }
    return true;
}

/* ---- Steps ---- */

enum verb {
    TAKE,
    TRY,
    GIVE,
    MOVE,
    OBSERVE,
    SWITCH,
    NAME,
    LOOK_UP,
    FIGURES,
    RESET,
    RENEW,
    REPORT,
    LIMIT,
    VERBS
};

static const struct fuzz_verb verbs[VERBS] = {[TAKE] = {"take", 10},
                                              [TRY] = {"try", 6},
                                              [GIVE] = {"give", 12},
                                              [MOVE] = {"push and pop", 2},
                                              [OBSERVE] = {"observe", 5},
                                              [SWITCH] = {"diagnose", 3},
                                              [NAME] = {"set name", 3},
                                              [LOOK_UP] = {"get name", 2},
                                              [FIGURES] = {"figures", 4},
                                              [RESET] = {"reset", 1},
                                              [RENEW] = {"destroy and init", 2},
                                              [REPORT] = {"report", 1},
                                              [LIMIT] = {"limit, signal", 1}};

/* No object behind `number` is held, nor itself. */
static bool is_in_order(int number) {
    for (; number < LOCKS; number++) {
        if (objects[number].hold != FREE) {
            return false;
        }
    }
    return true;
}

static bool takes(struct fuzz_play *play, uint32_t argument, bool tries) {
    const int number = (int)(argument % LOCKS);
    struct object *object = &objects[number];
    const bool reads = number <= PLAIN_RWLOCK && argument / LOCKS % 2 == 0;
    if (object->hold != FREE || (!tries && !is_in_order(number))) {
        return true;
    }
    if (!take(number, reads, tries, argument / LOCKS / 2 % 2 == 0)) {
        return fuzz_mismatch(play, "object %d is free, and not taken", number);
    }
    object->hold = reads ? READS : HOLDS;
    object->taken++;
    return true;
}

static void push_and_pop(uint32_t argument) {
    uint8_t element = 1;
    if (argument % 2 == 0) {
        check_equal(ilk_spsc_push_until(objects[SPSC].of.spsc, &element, 1, 0), ILK_OK);
        check_equal(ilk_spsc_pop_until(objects[SPSC].of.spsc, &element, 1, 0), ILK_OK);
    } else {
        check_equal(ilk_mpmc_push_until(objects[MPMC].of.mpmc, &element, 1, 0), ILK_OK);
        check_equal(ilk_mpmc_pop_until(objects[MPMC].of.mpmc, &element, 1, 0), ILK_OK);
    }
}

static void observes(uint32_t argument) {
    const int number = (int)(argument % OBJECTS);
    struct object *object = &objects[number];
    const uint32_t what = argument / OBJECTS % (ILK_DIAGNOSE_ALL + 1);
    check_equal(observe(number, what), ILK_OK);
    const bool counts = (what & ILK_DIAGNOSE_CONTENTION) != 0;
    if (!counts || (object->own & ILK_DIAGNOSE_CONTENTION) == 0) {
        object->is_counted = false; /* the bits for all may have had it counted before */
    }
    object->own = what;
}

static bool play_step(struct fuzz_play *play, struct fuzz_step step, uint64_t *random) {
    const int number = (int)(step.argument % OBJECTS);
    const uint32_t rest = step.argument / OBJECTS;
    char name[LONGEST_NAME + 1];
    switch ((enum verb)step.verb) {
    case TAKE:
    case TRY:
        return takes(play, step.argument, step.verb == TRY);
    case GIVE:
        if (objects[number].hold != FREE) {
            give(number);
        }
        return true;
    case MOVE:
        push_and_pop(step.argument);
        return true;
    case OBSERVE:
        observes(step.argument);
        return true;
    case SWITCH:
        ilk_diagnose(step.argument % (ILK_DIAGNOSE_ALL + 1));
        return ilk_diagnosed() == step.argument % (ILK_DIAGNOSE_ALL + 1) ||
               fuzz_mismatch(play, "what was asked for is not on");
    case NAME:
        random_name(name, rest % (LONGEST_NAME + 1), random);
        check_equal(ilk_set_name(address_of(number), rest % 7 == 0 ? NULL : name), ILK_OK);
        keep_name(&objects[number], rest % 7 == 0 ? "" : name);
        return true;
    case LOOK_UP:
        return names_agree(play, number, 1 + rest % LONGEST_NAME);
    case FIGURES:
        return figures_agree(play);
    case RESET:
        ilk_figures_reset();
        for (int each = 0; each < OBJECTS; each++) {
            objects[each].taken = 0;
            objects[each].is_counted = (objects[each].own & ILK_DIAGNOSE_CONTENTION) != 0;
        }
        return true;
    case RENEW:
        if (objects[number].hold == FREE) {
            end(number);
            make(number);
        }
        return true;
    case REPORT:
        return writes(play, step.argument);
    default:
        check_equal(ilk_set_hang_limit(step.argument % 2 * UINT64_C(60000000000)), ILK_OK);
        check_equal(ilk_set_hang_signal(rest % 2 == 0 ? 0 : SIGUSR2), ILK_OK);
        return true;
    }
}

static bool play(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    const uint32_t at_first = (uint32_t)(fuzz_random(&random) % (ILK_DIAGNOSE_ALL + 1));
    snprintf(play->configuration, sizeof play->configuration, "diagnosis %u", at_first);
    ilk_set_report_handler(count_report, NULL);
    false_reports = 0;
    ilk_diagnose(at_first);
    for (int number = 0; number < OBJECTS; number++) {
        make(number);
    }
    /* What a thread takes by try_ calls is noted once it has made a call that may wait. */
    check_equal(observe(RWLOCK, ILK_DIAGNOSE_HANG), ILK_OK);
    check(take(RWLOCK, true, false, false));
    objects[RWLOCK].hold = READS;
    give(RWLOCK);
    check_equal(observe(RWLOCK, 0), ILK_OK);
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = play_step(play, steps[play->at], &random);
        if (agreed && false_reports > 0) {
            agreed = fuzz_mismatch(play, "a report of orders that are all one way");
        }
    }
    for (int number = 0; number < OBJECTS; number++) {
        if (objects[number].hold != FREE) {
            give(number);
        }
        end(number);
    }
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    check_equal(ilk_set_hang_signal(0), ILK_OK);
    ilk_diagnose(0);
    ilk_set_report_handler(NULL, NULL);
    return agreed;
}
/* contract: diagnostics.h, ilk_diagnose, ilk_diagnosed, ilk_get_name, ilk_set_name */
TEST(calls_of_diagnosis_agree_with_a_model) {
    const struct fuzz_driver driver = {"fuzz_diagnosis", verbs, VERBS, 120, play};
    fuzz_run(&driver);
}
