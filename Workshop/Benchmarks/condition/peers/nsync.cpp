/* SPDX-License-Identifier: Apache-2.0 */
#include "../contender.h"

#include <nsync.h>

using namespace bench;

namespace {

struct Predicate {
    bool (*predicate)(void *);
    void *context;
};

struct Judged {
    nsync::nsync_mu mu = NSYNC_MU_INIT;
    void lock() {
        nsync::nsync_mu_lock(&mu);
    }
    void unlock() {
        nsync::nsync_mu_unlock(&mu);
    }
    void await(size_t, bool (*predicate)(void *), void *context) {
        const Predicate waits{predicate, context};
        nsync::nsync_mu_wait(
            &mu,
            [](const void *argument) {
                const Predicate *asked = static_cast<const Predicate *>(argument);
                return asked->predicate(asked->context) ? 1 : 0;
            },
            &waits, nullptr);
    }
    void changed(size_t) {}
};
const Enlisted<Contender> judged(4, contender<Judged>("nsync_mu_wait"));

struct Signalled {
    nsync::nsync_mu mu = NSYNC_MU_INIT;
    nsync::nsync_cv conditions[most_queues] = {};
    void lock() {
        nsync::nsync_mu_lock(&mu);
    }
    void unlock() {
        nsync::nsync_mu_unlock(&mu);
    }
    void await(size_t queue, bool (*predicate)(void *), void *context) {
        while (!predicate(context)) {
            nsync::nsync_cv_wait(&conditions[queue], &mu);
        }
    }
    void changed(size_t queue) {
        nsync::nsync_cv_signal(&conditions[queue]);
    }
};
const Enlisted<Contender> signalled(5, contender<Signalled>("nsync_cv"));

} // namespace
