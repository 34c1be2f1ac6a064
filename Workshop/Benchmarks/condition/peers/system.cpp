/* SPDX-License-Identifier: Apache-2.0 */
#include "../contender.h"

#include <pthread.h>

using namespace bench;

namespace {

struct System {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t conditions[most_queues];
    System() {
        for (pthread_cond_t &condition : conditions) {
            pthread_cond_init(&condition, nullptr);
        }
    }
    void lock() {
        pthread_mutex_lock(&mutex);
    }
    void unlock() {
        pthread_mutex_unlock(&mutex);
    }
    void await(size_t queue, bool (*predicate)(void *), void *context) {
        while (!predicate(context)) {
            pthread_cond_wait(&conditions[queue], &mutex);
        }
    }
    void changed(size_t queue) {
        pthread_cond_signal(&conditions[queue]);
    }
};
const Enlisted<Contender> enlisted(3, contender<System>("pthread_cond_t"));

} // namespace
