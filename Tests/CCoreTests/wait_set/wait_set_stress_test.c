/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers of wait sets under load: rings of both kinds that producers fill, permits, a latch, sets that share a ring,
 * members that come and go, and wakes. Each element and each permit is counted once, and all threads end.
 */
/* contract: wait_set.A, wait_set.C, wait_set.D, wait_set.F */
#include "wait_set/waiting.h"
#include <interlock/inline/atomic.h>

enum { SERVERS = 3, PRODUCERS = 2 };

/* The server's own ring, the ring of all servers, a ring with little room that it fills, a semaphore of all. */
struct server {
    struct load *load;
    ilk_wait_set *set;
    ilk_spsc *own;
    ilk_spsc *output;
    uint32_t random;
    struct thread thread;
};

struct load {
    int rounds;
    uint64_t seed;
    struct server servers[SERVERS];
    ilk_mpmc *shared;
    ilk_semaphore permits;
    ilk_latch done; /* producers have ended */
    ILK_ATOMIC(uint64_t) popped_own, popped_shared, permits_taken, popped_output, pushed_output;
    ILK_ATOMIC(uint32_t) disturbers_end;
};

static void count(ILK_ATOMIC(uint64_t) * counter) {
    ilk_atomic_fetch_add(counter, 1, memory_order_relaxed);
}

/* As many as chance has it; false: closed and drained. */
static bool serve_own(struct server *self) {
    for (uint32_t most = next_random(&self->random) % 4; most > 0; most--) {
        int element;
        const ilk_status status = ilk_spsc_pop_until(self->own, &element, sizeof element, 0);
        if (status != ILK_OK) {
            return status != ILK_CLOSED;
        }
        count(&self->load->popped_own);
    }
    return true;
}

static bool serve_shared(struct server *self) {
    for (uint32_t most = next_random(&self->random) % 4; most > 0; most--) {
        int element;
        const ilk_status status = ilk_mpmc_pop_until(self->load->shared, &element, sizeof element, 0);
        if (status != ILK_OK) {
            return status != ILK_CLOSED;
        }
        count(&self->load->popped_shared);
    }
    return true;
}

static void fill_output(struct server *self) {
    const int element = 1;
    while (ilk_spsc_try_push(self->output, &element, sizeof element)) {
        count(&self->load->pushed_output);
    }
}

static void serve(void *context) {
    struct server *self = context;
    struct load *load = self->load;
    int open = 3; /* own, shared, done */
    while (open > 0) {
        void *keys[MOST_KEYS];
        size_t found;
        const size_t capacity = 1 + next_random(&self->random) % MOST_KEYS;
        const uint64_t deadline =
            next_random(&self->random) % 8 == 0 ? ilk_deadline_in_ns(1000) : ILK_FOREVER;
        const ilk_status status = ilk_wait_set_wait_until(self->set, keys, capacity, &found, deadline);
        check(status == ILK_OK || (status == ILK_TIMEDOUT && deadline != ILK_FOREVER));
        for (size_t i = 0; i < found; i++) {
            if ((keys[i] == self->own && !serve_own(self)) ||
                (keys[i] == load->shared && !serve_shared(self)) || keys[i] == &load->done) {
                check(ilk_wait_set_remove(self->set, keys[i]));
                open--;
            } else if (keys[i] == &load->permits) {
                count(&load->permits_taken);
            } else if (keys[i] == self->output) {
                fill_output(self);
            }
        }
    }
    check(ilk_wait_set_remove(self->set, self->output));
    ilk_spsc_close(self->output);
    ilk_wait_set_destroy(self->set);
}

static void produce(void *context) {
    struct load *load = context;
    for (int i = 0; i < load->rounds; i++) {
        check_equal(ilk_mpmc_push_until(load->shared, &i, sizeof i, ILK_FOREVER), ILK_OK);
        ilk_semaphore_signal(&load->permits, 1);
    }
    ilk_latch_count_down(&load->done);
}

static void feed(void *context) {
    struct server *server = context;
    for (int i = 0; i < server->load->rounds; i++) {
        check_equal(ilk_spsc_push_until(server->own, &i, sizeof i, ILK_FOREVER), ILK_OK);
    }
    ilk_spsc_close(server->own);
}

static void drain(void *context) {
    struct server *server = context;
    int element;
    while (ilk_spsc_pop_until(server->output, &element, sizeof element, ILK_FOREVER) == ILK_OK) {
        count(&server->load->popped_output);
    }
}

/* Members come and go, sets are made and destroyed, and servers woken. */
static void disturb(void *context) {
    struct load *load = context;
    uint32_t random = (uint32_t)load->seed | 1;
    while (ilk_atomic_load(&load->disturbers_end, memory_order_acquire) == 0) {
        struct server *server = &load->servers[next_random(&random) % SERVERS];
        ilk_mpmc *guest = new_mpmc(1);
        ilk_latch latch;
        ilk_latch_init(&latch, 1);
        ilk_wait_set *own = new_set();
        check_equal(ilk_wait_set_add_mpmc(own, load->shared, ILK_READABLE, guest), ILK_OK);
        check_equal(ilk_wait_set_add_semaphore(own, &load->permits, &latch), ILK_OK);
        check_equal(ilk_wait_set_add_mpmc(server->set, guest, ILK_READABLE, guest), ILK_OK);
        check_equal(ilk_wait_set_add_latch(server->set, &latch, &latch), ILK_OK);
        ilk_wait_set_wake(server->set);
        void *keys[2];
        size_t found;
        (void)!ilk_wait_set_wait_until(own, keys, 2, &found, ilk_deadline_in_ns(20000));
        for (size_t i = 0; i < found; i++) {
            if (keys[i] == &latch) {
                count(&load->permits_taken);
            }
        }
        ilk_latch_count_down(&latch);
        push_mpmc(guest);
        check(ilk_wait_set_remove(server->set, &latch));
        check(ilk_wait_set_remove(server->set, guest));
        ilk_wait_set_destroy(own);
        ilk_mpmc_destroy(guest);
    }
}

static void begin(struct load *load) {
    load->shared = new_mpmc(3);
    ilk_semaphore_init(&load->permits, 0);
    ilk_latch_init(&load->done, PRODUCERS);
    for (int i = 0; i < SERVERS; i++) {
        struct server *server = &load->servers[i];
        *server = (struct server){.load = load,
                                  .set = new_set(),
                                  .own = new_spsc(2),
                                  .output = new_spsc(2),
                                  .random = (uint32_t)(load->seed + (uint64_t)i) | 1};
        check_equal(ilk_wait_set_add_spsc(server->set, server->own, ILK_READABLE, server->own), ILK_OK);
        check_equal(ilk_wait_set_add_spsc(server->set, server->output, ILK_WRITABLE, server->output), ILK_OK);
        check_equal(ilk_wait_set_add_mpmc(server->set, load->shared, ILK_READABLE, load->shared), ILK_OK);
        check_equal(ilk_wait_set_add_semaphore(server->set, &load->permits, &load->permits), ILK_OK);
        check_equal(ilk_wait_set_add_latch(server->set, &load->done, &load->done), ILK_OK);
    }
}

/* The shared ring, which is open, keeps the servers until the disturber has ended: they destroy their sets. */
TEST(servers_lose_nothing) {
    static struct load load;
    load.rounds = stress_rounds(40000);
    load.seed = ilk_now_ns();
    check_during("servers", load.seed);
    begin(&load);
    struct thread producers[PRODUCERS], feeders[SERVERS], drainers[SERVERS], disturber;
    for (int i = 0; i < SERVERS; i++) {
        thread_start(&load.servers[i].thread, serve, &load.servers[i]);
        thread_start(&drainers[i], drain, &load.servers[i]);
        thread_start(&feeders[i], feed, &load.servers[i]);
    }
    thread_start(&disturber, disturb, &load);
    for (int i = 0; i < PRODUCERS; i++) {
        thread_start(&producers[i], produce, &load);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        thread_join(&producers[i]);
    }
    ilk_atomic_store(&load.disturbers_end, 1, memory_order_release);
    thread_join(&disturber);
    ilk_mpmc_close(load.shared);
    for (int i = 0; i < SERVERS; i++) {
        thread_join(&feeders[i]);
        thread_join(&load.servers[i].thread);
        thread_join(&drainers[i]);
        ilk_spsc_destroy(load.servers[i].own);
        ilk_spsc_destroy(load.servers[i].output);
    }
    ilk_mpmc_destroy(load.shared);
    const uint64_t rounds = (uint64_t)load.rounds;
    check_equal(load.popped_own, rounds * SERVERS);
    check_equal(load.popped_shared, rounds * PRODUCERS);
    check_equal(load.popped_output, load.pushed_output);
    check_equal(load.permits_taken + (uint64_t)ilk_semaphore_value(&load.permits), rounds * PRODUCERS);
    ilk_semaphore_destroy(&load.permits);
}
