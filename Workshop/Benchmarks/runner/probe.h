/* SPDX-License-Identifier: Apache-2.0
 *
 * A short measurement of the machine: some 15 ms for each of a few cores, 15 ms for the line trips, and once a
 * quarter of a second asleep.
 */
#ifndef INTERLOCK_BENCHMARKS_PROBE_H
#define INTERLOCK_BENCHMARKS_PROBE_H

#include "figures.h"
#include "report.h"

namespace bench {

class Probe {
  public:
    /* The load by other processes is that since the probe before, the first time since this object was made,
     * of a quarter of a second or more. One thread at a time; the caller's other threads should sleep. */
    Figures take();

  private:
    Neighbours others_;
    Stolen stolen_;
};

} // namespace bench

#endif
