/* SPDX-License-Identifier: Apache-2.0 */
#include "../contender.h"

#include <interlock/spsc.h>
#include <interlock/wait_set.h>

using namespace bench;

namespace {

void must(ilk_status status) {
    if (status != ILK_OK) {
        std::abort();
    }
}

struct Answers {
    ilk_spsc *answers = nullptr;
    Answers() {
        must(ilk_spsc_create(&answers, places, sizeof(uint64_t)));
    }
    ~Answers() {
        ilk_spsc_destroy(answers);
    }
    void answer(uint64_t number) {
        must(ilk_spsc_push_until(answers, &number, sizeof number, ILK_FOREVER));
    }
    uint64_t await_answer() {
        uint64_t number;
        must(ilk_spsc_pop_until(answers, &number, sizeof number, ILK_FOREVER));
        return number;
    }
};

struct Set : Answers {
    ilk_wait_set *set = nullptr;
    ilk_spsc *rings[queues] = {};
    Set() {
        must(ilk_wait_set_create(&set));
        for (ilk_spsc *&ring : rings) {
            must(ilk_spsc_create(&ring, places, sizeof(uint64_t)));
            must(ilk_wait_set_add_spsc(set, ring, ILK_READABLE, ring));
        }
    }
    ~Set() {
        ilk_wait_set_destroy(set);
        for (ilk_spsc *ring : rings) {
            ilk_spsc_destroy(ring);
        }
    }
    void push(size_t queue, uint64_t number) {
        must(ilk_spsc_push_until(rings[queue], &number, sizeof number, ILK_FOREVER));
    }
    template <class Body> void serve(unsigned count, Body body) {
        for (unsigned served = 0; served < count;) {
            void *ready[queues];
            size_t found;
            must(ilk_wait_set_wait_until(set, ready, queues, &found, ILK_FOREVER));
            for (size_t index = 0; index < found; index++) {
                uint64_t number;
                while (ilk_spsc_try_pop(static_cast<ilk_spsc *>(ready[index]), &number, sizeof number)) {
                    body(number);
                    served++;
                }
            }
        }
    }
};
const Enlisted<Contender> set(0, contender<Set>("ilk_wait_set"));

/* Where the elements are of one kind, one ring for many threads serves too. */
struct One : Answers {
    ilk_mpmc *ring = nullptr;
    One() {
        must(ilk_mpmc_create(&ring, queues * places, sizeof(uint64_t)));
    }
    ~One() {
        ilk_mpmc_destroy(ring);
    }
    void push(size_t, uint64_t number) {
        must(ilk_mpmc_push_until(ring, &number, sizeof number, ILK_FOREVER));
    }
    template <class Body> void serve(unsigned count, Body body) {
        for (unsigned served = 0; served < count; served++) {
            uint64_t number;
            must(ilk_mpmc_pop_until(ring, &number, sizeof number, ILK_FOREVER));
            body(number);
        }
    }
};
const Enlisted<Contender> one(1, contender<One>("ilk_mpmc, one for all"));

} // namespace
