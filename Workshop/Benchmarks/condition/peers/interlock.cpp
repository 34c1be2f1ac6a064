/* SPDX-License-Identifier: Apache-2.0 */
#include "../contender.h"

#include <interlock/condition.h>

using namespace bench;

namespace {

struct Judged {
    ilk_mutex mutex = ILK_MUTEX_INIT;
    void lock() {
        ilk_mutex_lock(&mutex);
    }
    void unlock() {
        ilk_mutex_unlock(&mutex);
    }
    void await(size_t, ilk_predicate predicate, void *context) {
        (void)!ilk_mutex_await_until(&mutex, predicate, context, ILK_FOREVER);
    }
    void changed(size_t) {}
};
const Enlisted<Contender> judged(0, contender<Judged>("ilk_mutex, predicate"));

struct Written {
    ilk_rwlock rwlock = ILK_RWLOCK_INIT;
    void lock() {
        ilk_rwlock_write_lock(&rwlock);
    }
    void unlock() {
        ilk_rwlock_write_unlock(&rwlock);
    }
    void await(size_t, ilk_predicate predicate, void *context) {
        (void)!ilk_rwlock_write_await_until(&rwlock, predicate, context, ILK_FOREVER);
    }
    void changed(size_t) {}
};
const Enlisted<Contender> written(1, contender<Written>("ilk_rwlock, predicate"));

struct Signalled {
    ilk_mutex mutex = ILK_MUTEX_INIT;
    ilk_condition conditions[most_queues] = {};
    void lock() {
        ilk_mutex_lock(&mutex);
    }
    void unlock() {
        ilk_mutex_unlock(&mutex);
    }
    void await(size_t queue, ilk_predicate predicate, void *context) {
        while (!predicate(context)) {
            (void)!ilk_condition_wait_until(&conditions[queue], &mutex, ILK_FOREVER);
        }
    }
    void changed(size_t queue) {
        ilk_condition_signal(&conditions[queue]);
    }
};
const Enlisted<Contender> signalled(2, contender<Signalled>("ilk_condition"));

} // namespace
