/* SPDX-License-Identifier: Apache-2.0
 *
 * poll(2).
 */
#ifndef INTERLOCK_STUB_POLL_H
#define INTERLOCK_STUB_POLL_H

typedef unsigned int nfds_t;

struct pollfd {
    int fd;
    short events;
    short revents;
};

#define POLLIN 0x0001

int poll(struct pollfd *files, nfds_t count, int timeout_ms);

#endif
