/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the loader's hold on this copy of the library.
 */
#ifndef INTERLOCK_PLATFORM_STAY_LOADED_H
#define INTERLOCK_PLATFORM_STAY_LOADED_H

/* Keeps the plugin or library that this copy is linked into loaded, also if it was linked without `-z nodelete` and is
 * closed: the ends of threads, a signal's handler and a thread of the library's own run its code later. For a
 * constructor, which the loader calls: it takes the loader's lock. */
void ilk__stay_loaded(void);

#endif
