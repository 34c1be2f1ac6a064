/* SPDX-License-Identifier: Apache-2.0
 *
 * Swift's demangler is looked for before a lock is taken: dlsym waits for a thread that opens a library, and a
 * constructor of that may wait for the lock. The linker puts the test in front of dlsym.
 *
 *   opener                                  worker
 *   dlopen: the loader is locked            takes the lock
 *     a constructor asks for the lock       what is its place? dlsym …
 */
/* contract: docs/diagnosis.md */
#include "support/test.h"
#include <dlfcn.h>
#include <interlock/diagnostics.h>
#include <interlock/mutex.h>
#include <stdlib.h>
#include <string.h>

static unsigned searches, demanglings;

static char *demangle_nothing(const char *mangled, size_t length, char *buffer, size_t *size,
                              uint32_t flags) {
    (void)mangled, (void)length, (void)buffer, (void)size, (void)flags;
    demanglings++;
    return NULL;
}

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

/* A sanitizer's runtime calls it too, before it can check anything. */
#if __has_attribute(disable_sanitizer_instrumentation)
#define UNCHECKED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

UNCHECKED void *__wrap_dlsym(void *handle, const char *name) {
    static const char demangler[] = "swift_demangle";
    searches++;
    for (size_t index = 0; index < sizeof demangler; index++) {
        if (name[index] != demangler[index]) {
            return __real_dlsym(handle, name);
        }
    }
    char *(*found)(const char *, size_t, char *, size_t *, uint32_t) = demangle_nothing;
    void *function;
    memcpy(&function, &found, sizeof function);
    return function;
}

/* Functions of the facade, by their names: what a function is told to be is kept. */
#define LOCK_AS(function, name)                                                                              \
    __attribute__((noinline)) void function(ilk_mutex *mutex) __asm__(name);                                 \
    void function(ilk_mutex *mutex) {                                                                        \
        ilk_mutex_lock(mutex);                                                                               \
        __asm__ volatile(""); /* no tail call */                                                             \
    }
LOCK_AS(lock_in_swift, "$s13InterlockSync4lockyyF")
LOCK_AS(lock_one_in_swift, "$s13InterlockSync7lockOneyyF")

/* GNU's assembler takes such a name for a number in an instruction, not in data. */
static void (*const volatile functions[])(ilk_mutex *) = {lock_in_swift, lock_one_in_swift};
enum { LOCK, LOCK_ONE };

static void lock(int function, ilk_mutex *mutex) {
    searches = demanglings = 0;
    functions[function](mutex);
    check(demanglings > 0);
    check_equal(searches, 0);
    ilk_mutex_unlock(mutex);
}

TEST(no_function_is_looked_for_as_a_lock_is_taken) {
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    lock(LOCK, &mutex);
}

TEST(nor_as_an_object_that_is_watched_alone_is_taken) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    check_equal(ilk_mutex_observe(&mutex, ILK_DIAGNOSE_ORDER), ILK_OK);
    lock(LOCK_ONE, &mutex);
}
