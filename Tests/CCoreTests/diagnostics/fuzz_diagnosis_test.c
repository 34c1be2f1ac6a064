/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the calls of <interlock/diagnostics.h> among uses of locks, semaphores and rings, by one thread,
 * against a model: names, what is on, what is watched and held, and figures: exact ones of what its own call has had
 * counted since it was made or there was a reset, bounds of others. A waiting call asks only for what stands behind all
 * that is held, so a report of an order is false; but for two locks of one step, taken in both orders.
 *
 * Has been seen to fail on: a name cut within a character, kept at a new name or at the end; figures that a reset or a
 * destroy leaves; a share that stays once given back, upgraded or downgraded; a try that is not counted, or fails and
 * is, or adds an order, as does a wait with a limit; bits of one object that ilk_diagnose hides, or that add up; a wait
 * counted twice, or not if it gave up; a missing bracket or comma in JSON, a quote in a name that JSON has as it is.
 */
#include "diagnostics/reports.h"
#include "diagnostics/well_formed.h"
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

enum hold { FREE, READS, UPGRADABLE, HOLDS };

struct object {
    union {
        ilk_rwlock rwlock;
        ilk_mutex mutex;
        ilk_semaphore semaphore;
        ilk_spsc *spsc;
        ilk_mpmc *mpmc;
    } of;
    enum hold hold;
    bool is_noted;     /* the hold: taken as its own call had it watched, which it is since */
    bool is_timed;     /* the hold: taken as it was counted */
    bool is_signalled; /* the permit, or the plain lock, was given back, and its hold perhaps not known */
    bool is_left;      /* nothing was on for all as its own call switched it off, nor since */
    uint32_t own;      /* bits of its own call */
    bool
        is_counted; /* its own call has had it counted since it was made or there was a reset; else figures may be
                          less than these, which are since then */
    uint64_t taken, given_up, given, timed;
    uint64_t full_waits, empty_waits;
    char name[ILK_NAME_SIZE];
};

static struct object objects[OBJECTS];
static unsigned false_reports;
static bool is_inversion_expected;
static unsigned inversions;

static void count_report(const ilk_report *report, void *unused) {
    (void)unused;
    if (is_inversion_expected && report->kind == ILK_REPORT_INVERSION) {
        inversions++;
    } else {
        false_reports++;
    }
}

/* ---- What each kind does ---- */

static const void *address_of(int number) {
    const struct object *object = &objects[number];
    return number == SPSC   ? (const void *)object->of.spsc
           : number == MPMC ? (const void *)object->of.mpmc
                            : &object->of;
}

/* `by_constant`: by ILK_RWLOCK_INIT or its kin, where there is one for what was destroyed before. */
static void make(int number, bool by_constant) {
    struct object *object = &objects[number];
    *object = (struct object){.hold = FREE};
    switch (number) {
    case RWLOCK:
        if (by_constant) {
            object->of.rwlock = (ilk_rwlock)ILK_RWLOCK_INIT;
        } else {
            ilk_rwlock_init(&object->of.rwlock);
        }
        break;
    case PLAIN_RWLOCK:
        if (by_constant) {
            object->of.rwlock = (ilk_rwlock)ILK_RWLOCK_INIT_PLAIN;
        } else {
            ilk_rwlock_init_plain(&object->of.rwlock);
        }
        break;
    case MUTEX:
    case INHERITING:
        ilk_mutex_init(&object->of.mutex, number == INHERITING);
        break;
    case SEMAPHORE:
        if (by_constant) {
            object->of.semaphore = (ilk_semaphore)ILK_SEMAPHORE_INIT(1);
        } else {
            ilk_semaphore_init(&object->of.semaphore, 1);
        }
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

/* `tries`: by a call that does not wait. */
static bool take(int number, enum hold hold, bool tries, uint64_t limit) {
    struct object *object = &objects[number];
    switch (number) {
    case RWLOCK:
    case PLAIN_RWLOCK:
        if (hold == UPGRADABLE) {
            return ilk_rwlock_upgradable_lock_until(&object->of.rwlock, limit) == ILK_OK;
        }
        if (hold == READS) {
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

/* Whether any thread may give back what one has taken. */
static bool is_anyones(int number) {
    return number == PLAIN_RWLOCK || number == SEMAPHORE || number == BARGING;
}

static void give(int number) {
    struct object *object = &objects[number];
    if (number == MUTEX || number == INHERITING) {
        ilk_mutex_unlock(&object->of.mutex);
    } else if (number == SEMAPHORE || number == BARGING) {
        ilk_semaphore_signal(&object->of.semaphore, 1);
    } else if (object->hold == READS) {
        ilk_rwlock_read_unlock(&object->of.rwlock);
    } else if (object->hold == UPGRADABLE) {
        ilk_rwlock_upgradable_unlock(&object->of.rwlock);
    } else {
        ilk_rwlock_write_unlock(&object->of.rwlock);
    }
    object->hold = FREE;
    object->given++;
    object->timed += object->is_timed ? 1 : 0;
    object->is_signalled |= !object->is_noted && is_anyones(number);
    object->is_noted = object->is_timed = false;
}

/* ---- Names ---- */

static const char *const letters[] = {"a", "Z", " ", "\"", "\\", "\n", "\t", "\x01", "é", "→", "𝄞", "<"};

/* A name of whole characters, `length` bytes at most. */
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
    const bool is_copied =
        size == 0 || (strnlen(found, size) < size && strncmp(found, object->name, size - 1) == 0);
    if (is_named != (object->name[0] != '\0') || found[size] != '#' || !is_copied) {
        return fuzz_mismatch(play, "object %d: the name of %zu bytes is \"%.*s\", not \"%s\"", number, size,
                             (int)size, found, object->name);
    }
    return true;
}

/* ---- Figures ---- */

/* `exact`: not less than in the model either. */
static bool agrees(struct fuzz_play *play, int number, const char *what, uint64_t found, uint64_t expected,
                   bool exact) {
    if (found > expected || (exact && found != expected)) {
        return fuzz_mismatch(play, "object %d: %llu %s, not %llu%s", number, (unsigned long long)found, what,
                             (unsigned long long)expected, exact ? "" : " at most");
    }
    return true;
}

static bool times_agree(struct fuzz_play *play, int number, const ilk_times *times) {
    uint64_t count = 0, least_ns = 0;
    for (uint32_t bucket = 0; bucket < ILK_HISTOGRAM_BUCKETS; bucket++) {
        count += times->buckets[bucket];
        least_ns += bucket > 0 ? times->buckets[bucket] * ilk_histogram_limit_ns(bucket - 1) : 0;
    }
    if (count != times->count || least_ns > times->total_ns || times->longest_ns > times->total_ns ||
        times->total_ns > times->count * times->longest_ns) {
        return fuzz_mismatch(play, "object %d: %llu times in the histogram, of %llu of %llu ns, %llu at most",
                             number, (unsigned long long)count, (unsigned long long)times->count,
                             (unsigned long long)times->total_ns, (unsigned long long)times->longest_ns);
    }
    return true;
}

static bool figures_of(struct fuzz_play *play, int number, const ilk_figures *one) {
    const struct object *object = &objects[number];
    const bool exact = object->is_counted;
    if (one->kind != kinds[number] || strcmp(one->name, object->name) != 0) {
        return fuzz_mismatch(play, "object %d: figures of %s \"%s\", not \"%s\"", number,
                             ilk_object_kind_name(one->kind), one->name, object->name);
    }
    if (!times_agree(play, number, &one->wait) || !times_agree(play, number, &one->hold)) {
        return false;
    }
    if (number >= LOCKS) {
        return agrees(play, number, "elements at most", one->capacity, CAPACITY, true) &&
               agrees(play, number, "waits while full", one->full_waits, object->full_waits, exact) &&
               agrees(play, number, "waits while empty", one->empty_waits, object->empty_waits, exact) &&
               agrees(play, number, "waits", one->wait.count, object->full_waits + object->empty_waits,
                      exact);
    }
    /* A hold that began before it was counted may have its end counted. */
    return agrees(play, number, "acquisitions", one->acquisitions, object->taken, exact) &&
           agrees(play, number, "waits", one->wait.count, object->given_up, exact) &&
           agrees(play, number, "holds", one->hold.count, object->given, false) &&
           (!exact || one->hold.count >= object->timed ||
            fuzz_mismatch(play, "object %d: %llu holds, not %llu at least", number,
                          (unsigned long long)one->hold.count, (unsigned long long)object->timed));
}

static bool figures_agree(struct fuzz_play *play, size_t capacity) {
    static ilk_figures figures[OBJECTS];
    const size_t count = ilk_figures_snapshot(figures, OBJECTS);
    if (count > OBJECTS || ilk_figures_snapshot(NULL, 0) != count) {
        return fuzz_mismatch(play, "%zu objects, or another number of them", count);
    }
    bool is_seen[OBJECTS] = {false};
    for (size_t index = 0; index < count; index++) {
        const ilk_figures *one = &figures[index];
        int number = 0;
        while (number < OBJECTS && address_of(number) != one->object) {
            number++;
        }
        if (number == OBJECTS || is_seen[number]) {
            return fuzz_mismatch(play, "figures of %p, which is no object, or is twice", one->object);
        }
        if (index > 0 && one->wait.total_ns > figures[index - 1].wait.total_ns) {
            return fuzz_mismatch(play, "object %d has waited longer than those before", number);
        }
        is_seen[number] = true;
        if (!figures_of(play, number, one)) {
            return false;
        }
    }
    for (int number = 0; number < OBJECTS; number++) {
        if (!is_seen[number] && objects[number].own != 0) {
            return fuzz_mismatch(play, "object %d is watched, and has no figures", number);
        }
        if (is_seen[number] && objects[number].is_left) {
            return fuzz_mismatch(play, "object %d is not watched, and has figures", number);
        }
    }
    static ilk_figures first[OBJECTS + 1];
    first[capacity] = (ilk_figures){.object = &first};
    if (ilk_figures_snapshot(first, capacity) != count || first[capacity].object != &first) {
        return fuzz_mismatch(play, "a snapshot of %zu objects writes more, or counts others", capacity);
    }
    return true;
}

/* ---- Reports ---- */

/* What the thread is said to hold is what it holds. */
static bool holds_agree(struct fuzz_play *play, const char *text) {
    static const char *const modes[] = {
        [FREE] = "not at all", [READS] = "read", [UPGRADABLE] = "upgradable", [HOLDS] = "write"};
    for (int number = 0; number < LOCKS; number++) {
        const struct object *object = &objects[number];
        const char *quote = object->name[0] != '\0' ? "\"" : "";
        char held[64], line[128 + ILK_NAME_SIZE];
        const int begin = snprintf(held, sizeof held, "  holds %s %p ", ilk_object_kind_name(kinds[number]),
                                   address_of(number));
        snprintf(line, sizeof line, "%s%s%s%s%s(%s)", held, quote, object->name, quote,
                 object->name[0] != '\0' ? " " : "", modes[object->hold]);
        const char *found = strstr(text, held);
        if (found == NULL ? object->is_noted
                          : strncmp(found, line, strlen(line)) != 0 || strstr(found + begin, held) != NULL) {
            return fuzz_mismatch(play, "object %d is held \"%s\", and said to be \"%.40s\"", number,
                                 modes[object->hold], found != NULL ? found + begin : "");
        }
    }
    return strstr(text, "  waits for ") == NULL || fuzz_mismatch(play, "the thread is said to wait");
}

/* Whether what is on for all is said to be. */
static bool watches_agree(struct fuzz_play *play, const char *text) {
    static const char *const words[] = {"\"order\"", "\"contention\"", "\"hang\""};
    char expected[80] = "\"watches\": [";
    for (unsigned bit = 0; bit < 3; bit++) {
        if ((ilk_diagnosed() & UINT32_C(1) << bit) != 0) {
            const size_t length = strlen(expected);
            snprintf(expected + length, sizeof expected - length, "%s%s",
                     expected[length - 1] == '[' ? "" : ", ", words[bit]);
        }
    }
    const size_t length = strlen(expected);
    snprintf(expected + length, sizeof expected - length, "],");
    return strstr(text, expected) != NULL || fuzz_mismatch(play, "the report has not %s", expected);
}

static bool writes(struct fuzz_play *play, uint32_t argument) {
    const ilk_diagnosis_form form = (ilk_diagnosis_form)(argument % 3);
    const char *text = diagnosis(form);
    if (form == ILK_AS_TEXT) {
        return holds_agree(play, text);
    }
    /* In a page between tags, of which a name ends none. */
    const char *tag = form == ILK_AS_PAGE ? strstr(text, "id=\"report\">") : text;
    const char *end = tag != NULL ? after_json(form == ILK_AS_PAGE ? strchr(tag, '>') + 1 : tag) : NULL;
    if (end == NULL ||
        (form == ILK_AS_PAGE ? strstr(end, "</script>") != end || strstr(end, "</html>") == NULL
                             : *end != '\0')) {
        return fuzz_mismatch(play, "a report of %zu bytes is no JSON, or more", strlen(text));
    }
    return watches_agree(play, text);
}

/* ---- Steps ---- */

enum verb {
    TAKE,
    TRY,
    FAIL,
    CHANGE,
    AGAIN,
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
    INVERT,
    VERBS
};

static const struct fuzz_verb verbs[VERBS] = {[TAKE] = {"take", 10},
                                              [TRY] = {"try", 6},
                                              [FAIL] = {"take what is held", 6},
                                              [CHANGE] = {"upgrade or downgrade", 6},
                                              [AGAIN] = {"read once more", 4},
                                              [GIVE] = {"give", 24},
                                              [MOVE] = {"push and pop", 2},
                                              [OBSERVE] = {"observe", 5},
                                              [SWITCH] = {"diagnose", 3},
                                              [NAME] = {"set name", 3},
                                              [LOOK_UP] = {"get name", 2},
                                              [FIGURES] = {"figures", 4},
                                              [RESET] = {"reset", 1},
                                              [RENEW] = {"destroy and init", 2},
                                              [REPORT] = {"report", 1},
                                              [LIMIT] = {"limit, signal", 1},
                                              [INVERT] = {"opposite orders", 1}};

/* No object behind `number` is held, nor itself. */
static bool is_in_order(int number) {
    for (; number < LOCKS; number++) {
        if (objects[number].hold != FREE) {
            return false;
        }
    }
    return true;
}

static void have_taken(struct object *object, enum hold hold) {
    object->hold = hold;
    object->taken++;
    object->is_noted = object->own != 0 && !object->is_signalled;
    object->is_timed = object->is_counted && !object->is_signalled;
}

static bool takes(struct fuzz_play *play, uint32_t argument, bool tries) {
    const int number = (int)(argument % LOCKS);
    struct object *object = &objects[number];
    const uint32_t rest = argument / LOCKS;
    static const enum hold waiting[] = {READS, UPGRADABLE, UPGRADABLE, HOLDS};
    static const enum hold trying[] = {READS, HOLDS, READS, HOLDS};
    const enum hold hold = number > PLAIN_RWLOCK ? HOLDS : tries ? trying[rest % 4] : waiting[rest % 4];
    if (object->hold != FREE || (!tries && !is_in_order(number))) {
        return true;
    }
    const uint64_t limit = rest / 4 % 2 == 0 ? ilk_deadline_in_ns(UINT64_C(1000000000)) : ILK_FOREVER;
    if (!take(number, hold, tries, limit)) {
        return fuzz_mismatch(play, "object %d is free, and not taken", number);
    }
    have_taken(object, hold);
    return true;
}

/* Asks for what the thread has, by a try or with a limit that has passed. */
static bool fails(struct fuzz_play *play, uint32_t argument) {
    const int number = (int)(argument % LOCKS);
    struct object *object = &objects[number];
    /* An owner's wait for its mutex is misuse. */
    const bool tries = number == MUTEX || number == INHERITING || argument / LOCKS % 2 == 0;
    if (object->hold == FREE) {
        return true;
    }
    if (take(number, HOLDS, tries, ilk_deadline_in_ns(0))) {
        return fuzz_mismatch(play, "object %d is held, and taken", number);
    }
    object->given_up += tries ? 0 : 1;
    return true;
}

/* An upgrade asks for the lock, behind what is held. */
static void changes(uint32_t argument) {
    const int number = (int)(argument % (PLAIN_RWLOCK + 1));
    struct object *object = &objects[number];
    if (object->hold == UPGRADABLE && is_in_order(number + 1)) {
        check_equal(ilk_rwlock_upgrade_until(&object->of.rwlock, ILK_FOREVER), ILK_OK);
        object->hold = HOLDS;
        object->taken++;
    } else if (object->hold == HOLDS) {
        ilk_rwlock_downgrade(&object->of.rwlock);
        object->hold = READS;
        object->is_signalled |= !object->is_noted && is_anyones(number);
    }
}

/* No writer waits, so a reader does not wait for itself. */
static void reads_again(uint32_t argument) {
    const int number = (int)(argument % (PLAIN_RWLOCK + 1));
    struct object *object = &objects[number];
    if (object->hold != READS || !is_in_order(number + 1)) {
        return;
    }
    check(take(number, READS, false, ILK_FOREVER));
    ilk_rwlock_read_unlock(&object->of.rwlock);
    object->taken++;
    object->given++;
    object->timed += object->is_counted ? 1 : 0;
}

static ilk_status push(int number) {
    const uint8_t element = 1;
    return number == SPSC ? ilk_spsc_push_until(objects[SPSC].of.spsc, &element, 1, 0)
                          : ilk_mpmc_push_until(objects[MPMC].of.mpmc, &element, 1, 0);
}

static ilk_status pop(int number) {
    uint8_t element;
    return number == SPSC ? ilk_spsc_pop_until(objects[SPSC].of.spsc, &element, 1, 0)
                          : ilk_mpmc_pop_until(objects[MPMC].of.mpmc, &element, 1, 0);
}

/* Fills the ring and empties it. Waits while it is full or empty end at once. */
static void push_and_pop(uint32_t argument) {
    const int number = argument % 2 == 0 ? SPSC : MPMC;
    for (int each = 0; each < CAPACITY; each++) {
        check_equal(push(number), ILK_OK);
    }
    if (argument / 2 % 2 == 0) {
        check_equal(push(number), ILK_TIMEDOUT);
        objects[number].full_waits++;
    }
    for (int each = 0; each < CAPACITY; each++) {
        check_equal(pop(number), ILK_OK);
    }
    if (argument / 4 % 2 == 0) {
        check_equal(pop(number), ILK_TIMEDOUT);
        objects[number].empty_waits++;
    }
}

static void observes(uint32_t argument) {
    const int number = (int)(argument % OBJECTS);
    struct object *object = &objects[number];
    const uint32_t rest = argument / OBJECTS;
    /* Half of them have it counted, which is then checked exactly. */
    const uint32_t what = (rest & ILK_DIAGNOSE_ALL) | (rest / 8 % 2 * ILK_DIAGNOSE_CONTENTION);
    check_equal(observe(number, what), ILK_OK);
    const bool is_unused =
        object->taken + object->given_up + object->given + object->full_waits + object->empty_waits == 0;
    const bool counts = (what & ILK_DIAGNOSE_CONTENTION) != 0;
    /* The bits for all may have had it counted before. */
    object->is_counted =
        counts && (is_unused || (object->is_counted && (object->own & ILK_DIAGNOSE_CONTENTION) != 0));
    if (what == 0) {
        object->is_noted = object->is_timed = false; /* forgotten, with its holds */
    }
    object->own = what;
    object->is_left = what == 0 && ilk_diagnosed() == 0;
}

/* With bits that mean nothing. */
static bool switches(struct fuzz_play *play, uint32_t argument) {
    ilk_diagnose(argument);
    for (int number = 0; number < OBJECTS; number++) {
        objects[number].is_left &= argument % (ILK_DIAGNOSE_ALL + 1) == 0;
    }
    return ilk_diagnosed() == argument % (ILK_DIAGNOSE_ALL + 1) ||
           fuzz_mismatch(play, "what was asked for is not on");
}

static void reset(void) {
    ilk_figures_reset();
    for (int number = 0; number < OBJECTS; number++) {
        struct object *object = &objects[number];
        object->taken = object->given_up = object->given = object->timed = 0;
        object->full_waits = object->empty_waits = 0;
        object->is_counted = (object->own & ILK_DIAGNOSE_CONTENTION) != 0;
    }
}

/* With the object all that is known of it ends. */
static bool renews(struct fuzz_play *play, int number, bool by_constant) {
    if (objects[number].hold != FREE) {
        return true;
    }
    const void *address = address_of(number);
    end(number);
    char name[ILK_NAME_SIZE];
    if (ilk_get_name(address, name, sizeof name)) {
        return fuzz_mismatch(play, "object %d is gone, and its name \"%s\" is not", number, name);
    }
    if (number != MUTEX && number != INHERITING) { /* which have no end */
        static ilk_figures figures[OBJECTS];
        const size_t count = ilk_figures_snapshot(figures, OBJECTS);
        for (size_t index = 0; index < count && index < OBJECTS; index++) {
            if (figures[index].object == address) {
                return fuzz_mismatch(play, "object %d is gone, and its figures are not", number);
            }
        }
    }
    make(number, by_constant);
    return true;
}

static void take_after(ilk_rwlock *first, ilk_rwlock *second, unsigned how) {
    ilk_rwlock_write_lock(first);
    if (how == 0) {
        ilk_rwlock_write_lock(second);
    } else if (how == 1) {
        check_equal(ilk_rwlock_write_lock_until(second, ilk_deadline_in_ns(UINT64_C(1000000000))), ILK_OK);
    } else {
        check(ilk_rwlock_try_write_lock(second));
    }
    ilk_rwlock_write_unlock(second);
    ilk_rwlock_write_unlock(first);
}

/* Whether the thread holds what keeps two orders apart. */
static bool has_guard(void) {
    for (int number = 0; number < SEMAPHORE; number++) {
        if (objects[number].hold == UPGRADABLE || objects[number].hold == HOLDS) {
            return true;
        }
    }
    return false;
}

/* Two new locks in both orders, twice: one report, if orders of both are watched and no call but waiting ones asks for
 * the second. What is held beside may keep them apart. */
static bool inverts(struct fuzz_play *play, uint32_t argument) {
    static ilk_rwlock pair[2];
    bool is_watched = true;
    for (unsigned each = 0; each < 2; each++) {
        const uint32_t own = (argument >> 3 * each) & ILK_DIAGNOSE_ALL;
        ilk_rwlock_init(&pair[each]);
        check_equal(ilk_rwlock_observe(&pair[each], argument >> (9 + 3 * each)), ILK_OK);
        check_equal(ilk_rwlock_observe(&pair[each], own), ILK_OK);
        is_watched &= ((own | ilk_diagnosed()) & ILK_DIAGNOSE_ORDER) != 0;
    }
    const unsigned side = argument >> 6 & 1;
    const unsigned how = (argument >> 7) % 4; /* 3: neither waits */
    inversions = 0;
    is_inversion_expected = true;
    for (unsigned times = 0; times < 2; times++) {
        take_after(&pair[side], &pair[!side], how == 3 ? 2 : 0);
        take_after(&pair[!side], &pair[side], how == 3 ? 1 : how);
    }
    is_inversion_expected = false;
    const unsigned expected = is_watched && how == 0 ? 1 : 0;
    const bool exact = !has_guard();
    for (unsigned each = 0; each < 2; each++) {
        ilk_rwlock_destroy(&pair[each]);
    }
    return (exact ? inversions == expected : inversions <= expected) ||
           fuzz_mismatch(play, "%u reports of two orders, not %u", inversions, expected);
}

static bool play_step(struct fuzz_play *play, struct fuzz_step step, uint64_t *random) {
    const int number = (int)(step.argument % OBJECTS);
    const uint32_t rest = step.argument / OBJECTS;
    char name[LONGEST_NAME + 1];
    switch ((enum verb)step.verb) {
    case TAKE:
    case TRY:
        return takes(play, step.argument, step.verb == TRY);
    case FAIL:
        return fails(play, step.argument);
    case CHANGE:
        changes(step.argument);
        return true;
    case AGAIN:
        reads_again(step.argument);
        return true;
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
        return switches(play, step.argument);
    case NAME:
        random_name(name, rest % (LONGEST_NAME + 1), random);
        check_equal(ilk_set_name(address_of(number), rest % 7 == 0 ? NULL : name), ILK_OK);
        keep_name(&objects[number], rest % 7 == 0 ? "" : name);
        return true;
    case LOOK_UP:
        return names_agree(play, number, rest % (LONGEST_NAME + 1));
    case FIGURES:
        return figures_agree(play, rest % (OBJECTS + 1));
    case RESET:
        reset();
        return true;
    case RENEW:
        return renews(play, number, rest % 2 == 0);
    case REPORT:
        return writes(play, step.argument);
    case INVERT:
        return inverts(play, step.argument);
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
        make(number, false);
    }
    /* What a thread takes by try_ calls is noted once it has made a call that may wait. */
    check_equal(observe(RWLOCK, ILK_DIAGNOSE_HANG), ILK_OK);
    check(take(RWLOCK, READS, false, ILK_FOREVER));
    have_taken(&objects[RWLOCK], READS);
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
