/* SPDX-License-Identifier: Apache-2.0
 *
 * What no call of the core changes or acts on, held around those parts of it that open, read or write files: errno, and
 * a cancellation of the calling thread. Most calls for files are cancellation points: a thread that ended there would
 * leave its lock taken. Not on fast paths.
 */
#ifndef INTERLOCK_PLATFORM_SIDE_EFFECTS_H
#define INTERLOCK_PLATFORM_SIDE_EFFECTS_H

struct ilk__side_effects {
    int error;
    int cancel_state;
};

/* `before` is for ilk__side_effects_release. */
void ilk__side_effects_hold(struct ilk__side_effects *before);
void ilk__side_effects_release(const struct ilk__side_effects *before);

#endif
