/* SPDX-License-Identifier: Apache-2.0 */
#include "../contender.h"

#include <absl/synchronization/mutex.h>

using namespace bench;

namespace {

struct Judged {
    absl::Mutex mutex;
    void lock() {
        mutex.Lock();
    }
    void unlock() {
        mutex.Unlock();
    }
    void await(size_t, bool (*predicate)(void *), void *context) {
        mutex.Await(absl::Condition(predicate, context));
    }
    void changed(size_t) {}
};
const Enlisted<Contender> judged(6, contender<Judged>("absl::Mutex::Await"));

struct Signalled {
    absl::Mutex mutex;
    absl::CondVar conditions[most_queues];
    void lock() {
        mutex.Lock();
    }
    void unlock() {
        mutex.Unlock();
    }
    void await(size_t queue, bool (*predicate)(void *), void *context) {
        while (!predicate(context)) {
            conditions[queue].Wait(&mutex);
        }
    }
    void changed(size_t queue) {
        conditions[queue].Signal();
    }
};
const Enlisted<Contender> signalled(7, contender<Signalled>("absl::CondVar"));

} // namespace
