/* SPDX-License-Identifier: Apache-2.0
 *
 * Several copies of Interlock in one process: two shared objects without each other's symbols, and the
 * program. A shared lock must keep one copy's writer out while another's reader is in a slot.
 */
/* contract: docs/rwlock.md */
#include "rwlock_two_libraries.h"

#include "rwlock/slot_table.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct copy {
    const char *name;
    void *library; /* NULL for the program itself */
    const struct rwlock_copy *calls;
};

static struct copy open_copy(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
    }
    check(library != NULL);
    return (struct copy){path, library, dlsym(library, "rwlock_copy")};
}

/* ---- The program's own copy ---- */

static void own_read_lock(ilk_rwlock *lock) {
    ilk_rwlock_read_lock(lock);
}

static void own_read_unlock(ilk_rwlock *lock) {
    ilk_rwlock_read_unlock(lock);
}

static void own_write_lock(ilk_rwlock *lock) {
    ilk_rwlock_write_lock(lock);
}

static bool own_try_write_lock(ilk_rwlock *lock) {
    return ilk_rwlock_try_write_lock(lock);
}

static void own_write_unlock(ilk_rwlock *lock) {
    ilk_rwlock_write_unlock(lock);
}

static const void *own_table(void) {
    return &ilk__slot_table_2;
}

static ilk_status own_pop(ilk_spsc *ring, uint64_t *element) {
    return ilk_spsc_pop_until(ring, element, sizeof *element, ILK_FOREVER);
}

static const struct rwlock_copy own_calls = {
    own_read_lock, own_read_unlock, own_write_lock, own_try_write_lock, own_write_unlock, own_table, own_pop};

/* ---- Claims about a pair of copies ---- */

static void use_slots(const struct copy *copy, ilk_rwlock *lock) {
    for (int reads = 0; mode_of(lock) == 0; reads++) {
        check(reads < 1000);
        copy->calls->read_lock(lock);
        copy->calls->read_unlock(lock);
    }
}

struct writer {
    const struct copy *copy;
    ilk_rwlock *lock;
    ILK_ATOMIC(int) inside;
};

static void write_once(void *context) {
    struct writer *self = context;
    self->copy->calls->write_lock(self->lock);
    ilk_atomic_store(&self->inside, 1, memory_order_relaxed);
    self->copy->calls->write_unlock(self->lock);
}

static void keeps_out(const struct copy *reads, const struct copy *writes) {
    printf("a reader in %s, a writer in %s\n", reads->name, writes->name);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    use_slots(reads, &lock);
    const uint32_t before = word_of(&lock);
    reads->calls->read_lock(&lock);
    check_equal(word_of(&lock), before); /* it is in a slot */
    check(!writes->calls->try_write_lock(&lock));
    struct writer context = {.copy = writes, .lock = &lock};
    struct thread writer;
    thread_start(&writer, write_once, &context);
    thread_await_sleep(&writer);
    check_equal(ilk_atomic_load(&context.inside, memory_order_relaxed), 0);
    reads->calls->read_unlock(&lock);
    thread_join(&writer);

    reads->calls->read_lock(&lock);
    writes->calls->read_unlock(&lock);
    check(reads->calls->try_write_lock(&lock));
    reads->calls->write_unlock(&lock);
}

TEST(two_libraries_have_one_table) {
    const struct copy first = open_copy(FIRST_COPY), second = open_copy(SECOND_COPY);
    check(first.calls != second.calls);
    check(first.calls->read_lock != second.calls->read_lock);
    check(first.calls->table() == second.calls->table());
}

TEST(a_reader_in_one_library_keeps_out_a_writer_in_the_other) {
    const struct copy first = open_copy(FIRST_COPY), second = open_copy(SECOND_COPY);
    keeps_out(&first, &second);
    keeps_out(&second, &first);
}

TEST(a_reader_in_the_program_keeps_out_a_writer_in_a_library) {
    const struct copy library = open_copy(FIRST_COPY), program = {"the program", NULL, &own_calls};
    check(library.calls->table() == program.calls->table());
    keeps_out(&program, &library);
    keeps_out(&library, &program);
}

struct reader {
    const struct copy *copy;
    ilk_rwlock *lock;
    struct stage progress; /* 1: has read; 2: may end */
};

static void read_and_linger(void *context) {
    struct reader *self = context;
    self->copy->calls->read_lock(self->lock);
    self->copy->calls->read_unlock(self->lock);
    stage_reach(&self->progress, 1);
    stage_await(&self->progress, 2);
}

TEST(a_process_with_two_copies_can_fork) {
    const struct copy first = open_copy(FIRST_COPY), second = open_copy(SECOND_COPY);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    use_slots(&first, &lock);
    fflush(NULL);
    alarm(20); /* a fork that hangs is a failure */
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        alarm(20);
        bool got = second.calls->try_write_lock(&lock);
        if (got) {
            second.calls->write_unlock(&lock);
        }
        struct reader late = {.copy = &first, .lock = &lock, .progress = STAGE_INIT};
        struct thread thread;
        thread_start(&thread, read_and_linger, &late); /* which needs a block of slots */
        stage_await(&late.progress, 1);
        stage_reach(&late.progress, 2);
        thread_join(&thread);
        _exit(got ? 0 : 1);
    }
    alarm(0);
    int status;
    check_equal(waitpid(child, &status, 0), child);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    keeps_out(&first, &second);
}

TEST(a_library_may_be_closed_before_a_thread_that_read_through_it_ends) {
    const struct copy first = open_copy(FIRST_COPY), second = open_copy(SECOND_COPY);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    use_slots(&first, &lock);
    struct reader context = {.copy = &second, .lock = &lock, .progress = STAGE_INIT};
    struct thread reader;
    thread_start(&reader, read_and_linger, &context);
    stage_await(&context.progress, 1);
    check_equal(dlclose(second.library), 0);
    stage_reach(&context.progress, 2);
    thread_join(&reader);
    check(first.calls->try_write_lock(&lock));
    first.calls->write_unlock(&lock);
}
