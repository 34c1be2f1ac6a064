/* SPDX-License-Identifier: Apache-2.0
 *
 * See records.h. The list of records only grows; a thread that ends leaves its record to a later one.
 */
#include "diagnostics/records.h"

#include "diagnostics/names.h"
#include "platform/identity.h"
#include "platform/local.h"
#include "platform/reaches.h"
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A report does not wait for a thread that is always writing. */
enum { COPY_ATTEMPTS = 1000 };

static ILK_ATOMIC(struct ilk__record *) first_record;

struct ilk__record *ilk__records_first(void) {
    /* RC5 acquire, pairs with RC6.
     * Carries: the record's link.
     * If weaker: we follow a pointer that is not there yet. */
    return ilk_atomic_load(&first_record, memory_order_acquire);
}

/* ---- Changes by the owner ---- */

void ilk__record_begin(struct ilk__record *record) {
    /* RC2 relaxed: only the owner writes it, and its signal handlers run between its steps; in a copy RC12 comes
     * before. */
    uint32_t version = ilk_atomic_load(&record->version, memory_order_relaxed);
    ilk_atomic_store(&record->version, version + 1, memory_order_relaxed); /* RC2 */
    /* RC11 release, pairs with RC12 (the fence of a copy).
     * Carries: the odd version.
     * If weaker: a reader copies what is written from here on, and then reads the version of before. */
    ilk_atomic_fence(memory_order_release);
}

void ilk__record_end(struct ilk__record *record) {
    uint32_t version = ilk_atomic_load(&record->version, memory_order_relaxed); /* RC2 */
    /* RC3 release, pairs with RC4.
     * Carries: the whole record.
     * If weaker: a reader takes a half-written record for whole. */
    ilk_atomic_store(&record->version, version + 1, memory_order_release);
}

void ilk__record_set_label(ilk__record_word label[ILK__LABEL_WORDS], const char *text) {
    char bytes[ILK_NAME_SIZE] = {0};
    memcpy(bytes, text, (size_t)ilk__name_cut(text, (int)sizeof bytes - 1));
    for (unsigned index = 0; index < ILK__LABEL_WORDS; index++) {
        uint64_t word;
        memcpy(&word, bytes + index * sizeof word, sizeof word);
        ilk__record_set(&label[index], word);
    }
}

void ilk__record_get_label(const ilk__record_word label[ILK__LABEL_WORDS], char text[ILK_NAME_SIZE]) {
    for (unsigned index = 0; index < ILK__LABEL_WORDS; index++) {
        const uint64_t word = ilk__record_get(&label[index]);
        memcpy(text + index * sizeof word, &word, sizeof word);
    }
    text[ILK_NAME_SIZE - 1] = '\0';
}

void ilk__record_add_event(struct ilk__record *record, const struct ilk__object *object, uint64_t what,
                           uint64_t since_ns, uint64_t for_ns) {
    const uint64_t count = ilk__record_get(&record->event_count);
    struct ilk__event *event = &record->events[count % ILK__EVENTS_KEPT];
    ilk__record_set(&event->id, ilk__object_id(object));
    ilk__record_set(&event->address, (uintptr_t)ilk__object_address(object));
    ilk__record_set(&event->what, what);
    ilk__record_set(&event->since_ns, since_ns);
    ilk__record_set(&event->for_ns, for_ns);
    ilk__record_set(&record->event_count, count + 1);
}

/* ---- A thread's record ---- */

static void empty_record(struct ilk__record *record) {
    ilk__record_set(&record->held_count, 0);
    ilk__record_set(&record->waiting.address, 0);
    ilk__record_set(&record->work_count, 0);
    ilk__record_set(&record->event_count, 0);
    memset(record->known_orders, 0, sizeof record->known_orders);
}

void ilk__record_release(struct ilk__record *record) {
    ilk__thread_state()->record = NULL;
    ilk__thread_state()->has_ended_record = true;
    ilk__record_begin(record);
    empty_record(record);
    ilk__record_end(record);
    /* RC7 release, pairs with RC8 (the next owner).
     * Carries: the emptied record.
     * If weaker: the next owner's writes mix with ours. */
    ilk_atomic_store(&record->thread, 0, memory_order_release);
}

static struct ilk__record *take_free_record(uint32_t thread) {
    for (struct ilk__record *record = ilk__records_first(); record != NULL;
         record = ilk__record_next(record)) {
        uint32_t none = 0;
        /* RC8 acquire, pairs with RC7: we write a record that its last owner has emptied. */
        if (ilk_atomic_compare_exchange(&record->thread, &none, thread, memory_order_acquire,
                                        memory_order_relaxed)) {
            ILK__REACHES(RECORD_TAKEN_OVER, true);
            return record;
        }
    }
    return NULL;
}

static struct ilk__record *link_new_record(uint32_t thread) {
    struct ilk__record *record = calloc(1, sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    ilk_atomic_store(&record->thread, thread, memory_order_relaxed); /* RC9 */
    ilk_plain_write(&record->next, sizeof record->next);
    /* RC10 relaxed: a guess, which the exchange checks. */
    record->next = ilk_atomic_load(&first_record, memory_order_relaxed);
    /* RC6 release, pairs with RC5: the record's link is there before it can be followed. */
    while (!ilk_atomic_compare_exchange_weak(&first_record, &record->next, record, memory_order_release,
                                             memory_order_relaxed)) {
    }
    return record;
}

ILK_NOINLINE static struct ilk__record *begin_record(void) {
    struct ilk__thread_state *mine = ilk__thread_state();
    if (mine->has_ended_record) {
        return NULL;
    }
    const uint32_t thread = ilk__thread_id_before_fork();
    struct ilk__record *record = take_free_record(thread);
    if (record == NULL) {
        record = link_new_record(thread);
    }
    if (record != NULL) {
        mine->record = record;
        ilk__record_at_exit(record);
    }
    return record;
}

struct ilk__record *ilk__record_known(void) ILK_NONBLOCKING {
    struct ilk__record *record = ilk__thread_state()->record;
    const bool is_interrupted =
        record != NULL && (ilk_atomic_load(&record->version, memory_order_relaxed) & 1) != 0; /* RC2 */
    return is_interrupted ? NULL : record;
}

struct ilk__record *ilk__record_mine(void) {
    return ilk__thread_state()->record == NULL ? begin_record() : ilk__record_known();
}

/* ---- Copies by others ---- */

static void copy_words(const ilk__record_word *from, ilk__record_word *to, size_t bytes) {
    for (size_t index = 0; index < bytes / sizeof *from; index++) {
        ilk__record_set(&to[index], ilk__record_get(&from[index]));
    }
}

bool ilk__record_copy(const struct ilk__record *record, struct ilk__record *copy) {
    for (unsigned attempt = 0; attempt < COPY_ATTEMPTS; attempt++) {
        /* RC4 acquire, pairs with RC3: an even version: what its writer wrote before is whole. */
        const uint32_t before = ilk_atomic_load(&record->version, memory_order_acquire);
        const uint32_t thread = ilk__record_thread(record);
        if (thread == 0) {
            return false;
        }
        ilk_atomic_store(&copy->thread, thread, memory_order_relaxed); /* RC9 */
        copy_words(&record->held_count, &copy->held_count,
                   offsetof(struct ilk__record, known_orders) - offsetof(struct ilk__record, held_count));
        /* RC12 acquire, pairs with RC11: the words were copied before the version is read again. */
        ilk_atomic_fence(memory_order_acquire);
        if ((before & 1) == 0 &&
            ilk_atomic_load(&record->version, memory_order_relaxed) == before) { /* RC2 */
            return true;
        }
        ILK__REACHES(RECORD_CHANGES_AS_COPIED, true);
        ilk_cpu_relax();
    }
    return false;
}

/* ---- Fork ---- */

/* The other threads are gone, whatever they were writing. */
static void records_after_fork_in_child(void) {
    const struct ilk__record *mine = ilk__thread_state()->record;
    for (struct ilk__record *record = ilk__records_first(); record != NULL;
         record = ilk__record_next(record)) {
        if (record != mine) {
            ilk_atomic_store(&record->version, 0, memory_order_relaxed); /* RC2 */
            empty_record(record);
            ilk_atomic_store(&record->thread, 0, memory_order_relaxed); /* RC9 */
        } else {
            ilk_atomic_store(&record->thread, ilk__thread_id_before_fork(), memory_order_relaxed); /* RC9 */
        }
    }
}

__attribute__((constructor)) static void records_watch_fork(void) {
    (void)pthread_atfork(NULL, NULL, records_after_fork_in_child);
}
