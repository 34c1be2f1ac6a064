/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads. Timed joins, clocks of conditions and the naming of other threads do not exist.
 */
#ifndef INTERLOCK_STUB_PTHREAD_H
#define INTERLOCK_STUB_PTHREAD_H

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

typedef uint32_t mach_port_t;

struct _opaque_pthread_t {
    long __sig;
    char __opaque[8184];
};
typedef struct {
    long __sig;
    char __opaque[56];
} pthread_attr_t;
typedef struct {
    long __sig;
    char __opaque[56];
} pthread_mutex_t;
typedef struct {
    long __sig;
    char __opaque[40];
} pthread_cond_t;
typedef struct {
    long __sig;
    char __opaque[8];
} pthread_once_t;
typedef struct _opaque_pthread_t *pthread_t;
typedef unsigned long pthread_key_t;
typedef struct pthread_mutexattr pthread_mutexattr_t;
typedef struct pthread_condattr pthread_condattr_t;

#define PTHREAD_CANCEL_DISABLE 0x00
#define PTHREAD_MUTEX_INITIALIZER                                                                            \
    {                                                                                                        \
        0x32AAABA7, {                                                                                        \
            0                                                                                                \
        }                                                                                                    \
    }
#define PTHREAD_ONCE_INIT                                                                                    \
    {                                                                                                        \
        0x30B1BCBA, {                                                                                        \
            0                                                                                                \
        }                                                                                                    \
    }

/* The real ones keep a record in the caller's frame. */
#define pthread_cleanup_push(function, argument)                                                             \
    {                                                                                                        \
        void (*cleanup)(void *) = (function);                                                                \
        void *cleanup_argument = (argument)
#define pthread_cleanup_pop(runs)                                                                            \
    if (runs)                                                                                                \
        cleanup(cleanup_argument);                                                                           \
    }

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pthread_attr_init(pthread_attr_t *attributes);
int pthread_attr_destroy(pthread_attr_t *attributes);
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size);
int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int pthread_cond_destroy(pthread_cond_t *condition);
int pthread_cond_signal(pthread_cond_t *condition);
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                       const struct timespec *length);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                   void *context);
pthread_t pthread_from_mach_thread_np(mach_port_t port);
int pthread_getname_np(pthread_t thread, char *name, size_t size);
int pthread_join(pthread_t thread, void **result);
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
mach_port_t pthread_mach_thread_np(pthread_t thread);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_once(pthread_once_t *once, void (*function)(void));
pthread_t pthread_self(void);
int pthread_setcancelstate(int state, int *before);
int pthread_setname_np(const char *name);
int pthread_setspecific(pthread_key_t key, const void *value);

#endif
