/* SPDX-License-Identifier: Apache-2.0
 *
 * Statuses as text.
 */
#include <interlock/status.h>

const char *ilk_status_name(ilk_status status) ILK_NONBLOCKING {
    switch (status) {
    case ILK_OK:
        return "ILK_OK";
    case ILK_TIMEDOUT:
        return "ILK_TIMEDOUT";
    case ILK_CLOSED:
        return "ILK_CLOSED";
    case ILK_INVALID:
        return "ILK_INVALID";
    case ILK_NOMEM:
        return "ILK_NOMEM";
    }
    return "ILK_STATUS_UNKNOWN";
}
