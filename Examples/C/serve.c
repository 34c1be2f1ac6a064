/* SPDX-License-Identifier: Apache-2.0
 *
 * A server thread that waits for three rings of different kinds, a timer and the end of it all: orders and
 * cancellations that clients push, receipts that it pushes where there is room, and a semaphore that stops it. They
 * are in one wait set, whose descriptor stands beside a timerfd in an epoll. Each order is answered by one receipt; the
 * main thread counts them.
 */
#include <interlock/wait_set.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { CLIENTS = 2, ORDERS = 10000, EVERY = 10 };

struct order {
    int client, number;
};

struct shop {
    ilk_wait_set *set;
    ilk_mpmc *orders;        /* from all clients */
    ilk_spsc *cancellations; /* from the main thread */
    ilk_spsc *receipts;      /* to the main thread; little room */
    ilk_semaphore stop;
    /* The server's. */
    int owed; /* receipts without room so far */
    bool waits_for_room;
    int served, cancelled, ticks;
};

struct client {
    struct shop *shop;
    int number;
};

static void *place_orders(void *context) {
    const struct client *client = context;
    for (int i = 0; i < ORDERS; i++) {
        const struct order order = {client->number, i};
        if (ilk_mpmc_push_until(client->shop->orders, &order, sizeof order, ILK_FOREVER) != ILK_OK) {
            break;
        }
    }
    return NULL;
}

/* The set waits for room only while receipts are owed: room is there most of the time. */
static bool write_receipts(struct shop *shop) {
    while (shop->owed > 0 && ilk_spsc_try_push(shop->receipts, &shop->served, sizeof shop->served)) {
        shop->owed--;
    }
    if (shop->owed > 0 && !shop->waits_for_room) {
        shop->waits_for_room =
            ilk_wait_set_add_spsc(shop->set, shop->receipts, ILK_WRITABLE, shop->receipts) == ILK_OK;
        return shop->waits_for_room;
    }
    if (shop->owed == 0 && shop->waits_for_room) {
        shop->waits_for_room = !ilk_wait_set_remove(shop->set, shop->receipts);
    }
    return true;
}

static bool serve_orders(struct shop *shop) {
    struct order order;
    for (int most = 64; most > 0 && ilk_mpmc_try_pop(shop->orders, &order, sizeof order); most--) {
        shop->served++;
        shop->owed++;
    }
    return write_receipts(shop);
}

static bool serve_cancellations(struct shop *shop) {
    struct order order;
    while (ilk_spsc_try_pop(shop->cancellations, &order, sizeof order)) {
        shop->cancelled++;
    }
    return true;
}

/* One wait each time the descriptor is readable; it stays so while there is more. */
static bool serve_ready(struct shop *shop, bool *stopped) {
    void *ready[4];
    size_t count;
    if (ilk_wait_set_wait_until(shop->set, ready, 4, &count, 0) != ILK_OK) {
        return true; /* nothing more: the descriptor is low */
    }
    for (size_t i = 0; i < count; i++) {
        bool is_well = true;
        if (ready[i] == shop->orders) {
            is_well = serve_orders(shop);
        } else if (ready[i] == shop->receipts) {
            is_well = write_receipts(shop);
        } else if (ready[i] == shop->cancellations) {
            is_well = serve_cancellations(shop);
        } else {
            *stopped = true;
        }
        if (!is_well) {
            return false;
        }
    }
    return true;
}

static bool watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = descriptor}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static void *serve(void *context) {
    struct shop *shop = context;
    const struct itimerspec each_ms = {{0, 1000000}, {0, 1000000}};
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int rings;
    bool is_well = epoll >= 0 && timer >= 0 && timerfd_settime(timer, 0, &each_ms, NULL) == 0 &&
                   ilk_wait_set_descriptor(shop->set, &rings) == ILK_OK && watch(epoll, timer) &&
                   watch(epoll, rings);
    for (bool stopped = false; is_well && !(stopped && shop->owed == 0);) {
        struct epoll_event events[2];
        const int count = epoll_wait(epoll, events, 2, -1);
        for (int i = 0; i < count && is_well; i++) {
            if (events[i].data.fd == rings) {
                is_well = serve_ready(shop, &stopped);
            } else {
                uint64_t expired;
                shop->ticks += read(timer, &expired, sizeof expired) == (ssize_t)sizeof expired ? 1 : 0;
            }
        }
    }
    close(timer);
    close(epoll);
    return is_well ? shop : NULL;
}

static bool open_shop(struct shop *shop) {
    ilk_semaphore_init(&shop->stop, 0);
    return ilk_wait_set_create(&shop->set) == ILK_OK &&
           ilk_mpmc_create(&shop->orders, 64, sizeof(struct order)) == ILK_OK &&
           ilk_spsc_create(&shop->cancellations, 16, sizeof(struct order)) == ILK_OK &&
           ilk_spsc_create(&shop->receipts, 16, sizeof(int)) == ILK_OK &&
           ilk_wait_set_add_mpmc(shop->set, shop->orders, ILK_READABLE, shop->orders) == ILK_OK &&
           ilk_wait_set_add_spsc(shop->set, shop->cancellations, ILK_READABLE, shop->cancellations) ==
               ILK_OK &&
           ilk_wait_set_add_semaphore(shop->set, &shop->stop, &shop->stop) == ILK_OK;
}

int main(void) {
    static struct shop shop;
    struct client clients[CLIENTS];
    pthread_t server, threads[CLIENTS];
    if (!open_shop(&shop) || pthread_create(&server, NULL, serve, &shop) != 0) {
        return 1;
    }
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){&shop, i};
        if (pthread_create(&threads[i], NULL, place_orders, &clients[i]) != 0) {
            return 1;
        }
    }
    int receipts = 0, cancellations = 0;
    for (int latest; receipts < CLIENTS * ORDERS; receipts++) {
        if (ilk_spsc_pop_until(shop.receipts, &latest, sizeof latest, ILK_FOREVER) != ILK_OK) {
            return 1;
        }
        const struct order order = {0, receipts};
        if (receipts % EVERY == 0 && ilk_spsc_try_push(shop.cancellations, &order, sizeof order)) {
            cancellations++;
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
    }
    ilk_semaphore_signal(&shop.stop, 1);
    void *ended;
    pthread_join(server, &ended);
    (void)serve_cancellations(&shop); /* pushed after its last look */
    ilk_wait_set_destroy(shop.set);
    printf("%d orders, %d receipts, %d of %d cancellations, %d ticks\n", shop.served, receipts,
           shop.cancelled, cancellations, shop.ticks);
    return ended != NULL && shop.served == CLIENTS * ORDERS && shop.cancelled == cancellations ? 0 : 1;
}
