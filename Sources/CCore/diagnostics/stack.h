/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's stack and to the names of functions. The explorer's model has empty ones.
 */
#ifndef INTERLOCK_DIAGNOSTICS_STACK_H
#define INTERLOCK_DIAGNOSTICS_STACK_H

#include "diagnostics/text.h"
#include <stdbool.h>
#include <stdint.h>

/* The return addresses of the calling thread's frames, innermost first, from `site` on if that is one of them: what is
 * below is the library's own. Their number, ILK_STACK_FRAMES at most. Some hundred nanoseconds a frame; may allocate at
 * its first use. */
uint32_t ilk__stack_capture(void **frames, const void *site);

/* Builds without optimisation call the inline functions of the headers and of the facade: their frames come before the
 * line that a user looks for. The index of the first frame outside Interlock; 0, if there is none. Not where
 * ilk__is_own_frame may not be called. */
uint32_t ilk__stack_first(void *const *frames, uint32_t depth);

/* The first frame outside Interlock of the calling thread's stack, from `site` on; `site` if there is none. A load
 * where `site` is known to be the program's; a walk where it is not. Not where ilk__is_own_frame may not be called. */
const void *ilk__stack_line(const void *site);

/* Whether a frame is of Interlock's C, C++ or Swift, of what the compilers and the standard libraries put between it
 * and its caller, or in a library of the system. By the function's name: false where that is not known. The first
 * question about a frame reads symbols, allocates and locks the tables: not in try calls, unlocks and signal
 * handlers. */
bool ilk__is_own_frame(const void *frame);

/* Whether a mangled name is of Interlock's code, the compilers' or the standard libraries'. A function that may have
 * the program's inlined is not its own. */
bool ilk__is_own_function(const char *name);

/* The name in the symbol table, or NULL, and that of the file without its folders, or "". */
enum { ILK__MODULE_SIZE = 64 };
const char *ilk__frame_function(const void *frame, char module[ILK__MODULE_SIZE]);

/* Appends "function+0x12 (module+0x3456)", demangled, with what is known of it. Not in signal handlers. */
void ilk__text_add_frame(struct ilk__text *text, const void *frame);

/* Appends the name that the system keeps for the thread, as "name" (id). */
void ilk__text_add_thread(struct ilk__text *text, uint32_t thread);

#endif
