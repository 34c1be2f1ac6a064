/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of one file descriptor that is waited for, over epoll(7), for the Swift facade
 * (Sources/SwiftFacade/Operations/Dispatch/Sources): Swift's module of the C library leaves <sys/epoll.h> out. Linux
 * only. The core does not use it, the umbrella header leaves it out. No call blocks; all may be called from any thread.
 */
#ifndef INTERLOCK_INLINE_DESCRIPTOR_SET_H
#define INTERLOCK_INLINE_DESCRIPTOR_SET_H

#if defined(__linux__)

#include <errno.h>
#include <interlock/inline/attributes.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>

ILK_BEGIN_DECLARATIONS

enum {
    ILK__DESCRIPTOR_READABLE = EPOLLIN,
    ILK__DESCRIPTOR_WRITABLE = EPOLLOUT,
    ILK__DESCRIPTOR_ERROR = EPOLLERR,
    ILK__DESCRIPTOR_HUNG_UP = EPOLLHUP,
    ILK__DESCRIPTOR_ENDED = EPOLLRDHUP
};

static inline struct epoll_event ilk__descriptor_event(uint32_t events) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = events;
    return event;
}

/* The set's descriptor, which the caller closes; or minus the value of errno. */
static inline int ilk__descriptor_set_create(void) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set >= 0 ? set : -errno;
}

/* Adds `descriptor`, which is not waited for yet. 0 or the value of errno. */
static inline int ilk__descriptor_set_add(int set, int descriptor) {
    struct epoll_event event = ilk__descriptor_event(EPOLLONESHOT);
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

/* Waits for `events`, or an error or the end, once. 0 or the value of errno. */
static inline int ilk__descriptor_set_arm(int set, int descriptor, uint32_t events) {
    struct epoll_event event = ilk__descriptor_event(events | EPOLLONESHOT);
    return epoll_ctl(set, EPOLL_CTL_MOD, descriptor, &event) == 0 ? 0 : errno;
}

static inline void ilk__descriptor_set_remove(int set, int descriptor) {
    struct epoll_event event = ilk__descriptor_event(0);
    (void)epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &event);
}

/* What has happened; 0 for nothing. */
static inline uint32_t ilk__descriptor_set_take(int set) {
    struct epoll_event event = ilk__descriptor_event(0);
    return epoll_wait(set, &event, 1, 0) == 1 ? event.events : 0;
}

ILK_END_DECLARATIONS

#endif

#endif
