/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call answers that can end in more than one expected way. Misuse is never a status (diagnostics.h). No call of
 * a lock, a ring, a waiting primitive or the park layer changes errno, but where diagnosis writes a report, or
 * diagnosis or a wait set is refused memory.
 *
 *     #include <interlock/spsc.h>
 *     #include <interlock/status.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         ilk_spsc *ring;
 *         ilk_status status = ilk_spsc_create(&ring, 0, sizeof(int)); // no room for any element
 *         if (status != ILK_OK) {
 *             puts(ilk_status_name(status)); // prints ILK_INVALID
 *             return 0;
 *         }
 *         ilk_spsc_destroy(ring);
 *         return 1;
 *     }
 */
#ifndef INTERLOCK_STATUS_H
#define INTERLOCK_STATUS_H

#include <interlock/inline/attributes.h>

ILK_BEGIN_DECLARATIONS

typedef enum {
    ILK_OK,       /* done */
    ILK_TIMEDOUT, /* the deadline passed first: as if not called, but that a later wake-up may find no sleeper */
    ILK_CLOSED,  /* the ring or pool is closed: no more pushes, or closed and drained: no more pops */
    ILK_INVALID, /* an argument is outside what the call accepts; nothing was changed */
    ILK_NOMEM    /* memory could not be had; nothing was changed */
} ilk_status;

/* The name of `status` ("ILK_OK"), or "ILK_STATUS_UNKNOWN" for any other value; the string is static.
 * Thread-safe, never blocks or allocates, safe in signal handlers. */
const char *ilk_status_name(ilk_status status) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#endif
