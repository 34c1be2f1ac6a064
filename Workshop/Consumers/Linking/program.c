/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with plugins, each with a copy of Interlock linked into it. Compiled with HAS_A_COPY it has a
 * copy itself, "self".
 *
 *   program share FIRST SECOND     a reader through FIRST, in a slot, must keep out a writer through SECOND
 *   program CALL FIRST SECOND      CALL of SECOND (read, try-read, write, try-write, upgrade, destroy) on a
 *                                  lock that FIRST has moved to slots
 *   program apart FIRST SECOND     each copy uses locks of its own, in two threads
 *   program close PLUGIN           the plugin is closed before a thread that read through it ends
 *   program diagnosed PLUGIN       the plugin, mutex.c, is closed before a thread that took its mutex ends, and SIGQUIT
 *                                  comes
 *   program many PLUGIN...         opens them all and reads through each
 */
#include "copy.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAS_A_COPY
extern const struct copy interlock_copy;
#endif

enum { READS = 100000 };

struct opened {
    void *library; /* NULL: the program itself */
    const struct copy *calls;
};

static struct opened open_copy(const char *name) {
#ifdef HAS_A_COPY
    if (strcmp(name, "self") == 0) {
        return (struct opened){NULL, &interlock_copy};
    }
#endif
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const struct copy *calls = library != NULL ? dlsym(library, "interlock_copy") : NULL;
    if (calls == NULL) {
        printf("cannot open: %s\n", dlerror());
        exit(1);
    }
    return (struct opened){library, calls};
}

static void read_often(const struct copy *calls, ilk_rwlock *lock) {
    for (int reads = 0; reads < READS; reads++) {
        calls->read_lock(lock);
        calls->read_unlock(lock);
    }
}

static int share(const struct copy *first, const struct copy *second) {
    static ilk_rwlock lock = ILK_RWLOCK_INIT;
    read_often(first, &lock);
    if (!first->uses_slots(&lock)) {
        puts("the lock uses no slots");
        return 1;
    }
    first->read_lock(&lock);
    bool taken = second->try_write_lock(&lock);
    puts(taken ? "BOTH INSIDE" : "kept out");
    return taken ? 42 : 0;
}

static int call(const char *name, const struct copy *first, const struct copy *second) {
    static ilk_rwlock lock = ILK_RWLOCK_INIT;
    read_often(first, &lock);
    if (strcmp(name, "read") == 0) {
        second->read_lock(&lock);
        second->read_unlock(&lock);
    } else if (strcmp(name, "try-read") == 0) {
        if (second->try_read_lock(&lock)) {
            bool both = first->try_write_lock(&lock);
            second->read_unlock(&lock);
            puts(both ? "BOTH INSIDE" : "kept out");
            return both ? 42 : 0;
        }
    } else if (strcmp(name, "write") == 0) {
        second->write_lock(&lock);
        second->write_unlock(&lock);
    } else if (strcmp(name, "try-write") == 0) {
        if (second->try_write_lock(&lock)) {
            second->write_unlock(&lock);
        }
    } else if (strcmp(name, "destroy") == 0) {
        second->destroy(&lock);
    }
    puts("done");
    return 0;
}

static void *use_own_lock(void *context) {
    const struct copy *calls = context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int round = 0; round < 100; round++) {
        for (int reads = 0; reads < READS / 100; reads++) {
            calls->read_lock(&lock);
            if (reads == 0 && calls->try_write_lock(&lock)) {
                return "BOTH INSIDE";
            }
            calls->read_unlock(&lock);
        }
        calls->write_lock(&lock);
        calls->write_unlock(&lock);
    }
    calls->destroy(&lock);
    return NULL;
}

static int apart(const struct copy *first, const struct copy *second) {
    pthread_t threads[2];
    const struct copy *copies[2] = {first, second};
    int failures = 0;
    for (int i = 0; i < 2; i++) {
        failures += pthread_create(&threads[i], NULL, use_own_lock, (void *)copies[i]) != 0;
    }
    for (int i = 0; i < 2; i++) {
        void *fault = NULL;
        failures += pthread_join(threads[i], &fault) != 0 || fault != NULL;
    }
    puts(failures == 0 ? "done" : "BOTH INSIDE");
    return failures == 0 ? 0 : 42;
}

static pthread_barrier_t read_and_closed;
static ilk_rwlock outlived = ILK_RWLOCK_INIT;

static void *read_and_end(void *context) {
    const struct copy *calls = context;
    read_often(calls, &outlived);
    pthread_barrier_wait(&read_and_closed); /* it has read */
    pthread_barrier_wait(&read_and_closed); /* the plugin is closed */
    return NULL;
}

static int close_early(struct opened plugin) {
    pthread_t thread;
    pthread_barrier_init(&read_and_closed, NULL, 2);
    if (pthread_create(&thread, NULL, read_and_end, (void *)plugin.calls) != 0) {
        return 1;
    }
    pthread_barrier_wait(&read_and_closed);
    if (dlclose(plugin.library) != 0) {
        return 1;
    }
    pthread_barrier_wait(&read_and_closed);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}

static void *take_and_end(void *library) {
    void (*take)(void) = NULL;
    void *symbol = dlsym(library, "take_mutex");
    memcpy(&take, &symbol, sizeof symbol);
    take();
    pthread_barrier_wait(&read_and_closed); /* it has taken */
    pthread_barrier_wait(&read_and_closed); /* the plugin is closed */
    return NULL;
}

static int close_diagnosed(const char *plugin) {
    pthread_t thread;
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    pthread_barrier_init(&read_and_closed, NULL, 2);
    if (library == NULL || pthread_create(&thread, NULL, take_and_end, library) != 0) {
        return 1;
    }
    pthread_barrier_wait(&read_and_closed);
    if (dlclose(library) != 0 || raise(SIGQUIT) != 0) {
        return 1;
    }
    pthread_barrier_wait(&read_and_closed);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}

int main(int count, char **arguments) {
    if (count < 3) {
        return 2;
    }
    const char *name = arguments[1];
    if (strcmp(name, "diagnosed") == 0) {
        return close_diagnosed(arguments[2]);
    }
    struct opened first = open_copy(arguments[2]);
    if (strcmp(name, "close") == 0) {
        return close_early(first);
    }
    struct opened second = open_copy(arguments[count > 3 ? 3 : 2]);
    if (strcmp(name, "share") == 0) {
        return share(first.calls, second.calls);
    }
    if (strcmp(name, "apart") == 0) {
        return apart(first.calls, second.calls);
    }
    if (strcmp(name, "many") == 0) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        for (int i = 2; i < count; i++) {
            read_often(open_copy(arguments[i]).calls, &lock);
        }
        printf("%d copies\n", count - 2);
        return 0;
    }
    return call(name, first.calls, second.calls);
}
