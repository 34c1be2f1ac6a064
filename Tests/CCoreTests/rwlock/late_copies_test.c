/* SPDX-License-Identifier: Apache-2.0
 *
 * Late copies of the library: several plugins with one each, and one in a process that has used up what costs
 * nothing. Counts allocations.
 */
/* contract: docs/rwlock.md, rwlock.h, status.h */
#include "rwlock_two_libraries.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Plugins ---- */

static void copy_file(const char *from, const char *to) {
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    check(in >= 0 && out >= 0);
    static char chunk[1 << 16];
    for (ssize_t length; (length = read(in, chunk, sizeof chunk)) > 0;) {
        check_equal(write(out, chunk, (size_t)length), length);
    }
    check_equal(close(in), 0);
    check_equal(close(out), 0);
}

static const struct rwlock_copy *open_copy(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
    }
    check(library != NULL);
    return dlsym(library, "rwlock_copy");
}

enum { PLUGINS = 6 };

TEST(six_plugins_with_a_copy_each_can_be_opened) {
#if IS_SANITIZED || defined(ILK_CHECKED)
    skip_because("sanitizers and checked builds need more of that memory");
#endif
    char folder[] = "/tmp/interlock-copies-XXXXXX", path[sizeof folder + 16];
    check(mkdtemp(folder) != NULL);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int plugin = 0; plugin < PLUGINS; plugin++) {
        snprintf(path, sizeof path, "%s/%d.so", folder, plugin);
        copy_file(FIRST_COPY, path);
        const struct rwlock_copy *copy = open_copy(path);
        check_equal(unlink(path), 0);
        copy->read_lock(&lock);
        check(!ilk_rwlock_try_write_lock(&lock));
        copy->read_unlock(&lock);
    }
    check_equal(rmdir(folder), 0);
    check_free_and_destroy(&lock);
}

/* ---- Allocation ---- */

static _Thread_local bool counts, fails;
static ILK_ATOMIC(int) allocations;

#if !IS_SANITIZED
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_malloc(size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);

static bool is_refused(void) {
    if (counts) {
        ilk_atomic_fetch_add(&allocations, 1, memory_order_relaxed);
    }
    if (counts && fails) {
        errno = ENOMEM;
    }
    return counts && fails;
}

void *malloc(size_t size) {
    return is_refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return is_refused() ? NULL : __libc_calloc(count, size);
}
#endif

struct reading {
    const struct rwlock_copy *copy;
    ilk_rwlock *lock;
    bool fails, was_in_a_slot;
};

static void read_and_count(void *context) {
    struct reading *self = context;
    fails = self->fails;
    errno = 0;
    counts = true;
    for (int times = 0; times < 100; times++) {
        self->copy->read_lock(self->lock);
        self->was_in_a_slot = is_in_a_slot(self->lock);
        self->copy->read_unlock(self->lock);
    }
    counts = false;
    check_equal(errno, 0);
}

static int allocations_of_a_reader(const struct rwlock_copy *copy, ilk_rwlock *lock, bool refused,
                                   bool *was_in_a_slot) {
    struct reading reading = {.copy = copy, .lock = lock, .fails = refused};
    struct thread thread;
    ilk_atomic_store(&allocations, 0, memory_order_relaxed);
    thread_start(&thread, read_and_count, &reading);
    thread_join(&thread);
    *was_in_a_slot = reading.was_in_a_slot;
    return ilk_atomic_load(&allocations, memory_order_relaxed);
}

static void read_lock(ilk_rwlock *lock) {
    ilk_rwlock_read_lock(lock);
}

static void read_unlock(ilk_rwlock *lock) {
    ilk_rwlock_read_unlock(lock);
}

/* Before any constructor of this program: the library's key comes before them. */
enum { KEYS = 32 };
static pthread_key_t keys[KEYS];

__attribute__((constructor)) static void use_up_the_keys_that_cost_nothing(void) {
    for (int i = 0; i < KEYS; i++) {
        check_equal(pthread_key_create(&keys[i], NULL), 0);
    }
}

TEST(a_program_that_is_linked_with_it_never_allocates_in_a_lock) {
#if IS_SANITIZED
    skip_because("a sanitizer has its own allocator");
#endif
    const struct rwlock_copy own = {.read_lock = read_lock, .read_unlock = read_unlock};
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    bool was_in_a_slot;
    check_equal(allocations_of_a_reader(&own, &lock, false, &was_in_a_slot), 0);
    check(was_in_a_slot);
    check_free_and_destroy(&lock);
}

/* The header's exception; without memory readers are counted. */
TEST(a_late_copy_in_a_process_with_many_keys_allocates_once_a_thread) {
#if IS_SANITIZED
    skip_because("a sanitizer has its own allocator");
#endif
    const struct rwlock_copy *late = open_copy(FIRST_COPY);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    bool was_in_a_slot;
    check(allocations_of_a_reader(late, &lock, false, &was_in_a_slot) <= 1);
    check(was_in_a_slot);
    check(allocations_of_a_reader(late, &lock, true, &was_in_a_slot) <= 100); /* a failure each time */
    check_free_and_destroy(&lock);
}
