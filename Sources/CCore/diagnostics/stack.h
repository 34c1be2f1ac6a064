/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's stack and to the names of functions. The explorer's model has empty ones.
 */
#ifndef INTERLOCK_DIAGNOSTICS_STACK_H
#define INTERLOCK_DIAGNOSTICS_STACK_H

#include "diagnostics/text.h"
#include <stdint.h>

/* The return addresses of the calling thread's frames, innermost first, from `site` on if that is one of them: what is
 * below is the library's own. Their number, ILK_STACK_FRAMES at most. Some hundred nanoseconds a frame; may allocate at
 * its first use. */
uint32_t ilk__stack_capture(void **frames, const void *site);

/* Appends "function+0x12 (module+0x3456)", demangled, with what is known of it. Not in signal handlers. */
void ilk__text_add_frame(struct ilk__text *text, const void *frame);

/* Appends the name that the system keeps for the thread, as "name" (id). */
void ilk__text_add_thread(struct ilk__text *text, uint32_t thread);

#endif
