/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's own thread "interlock-watch", made when it is first needed: it writes a report at a signal, looks for
 * waits beyond the limit, and samples rings. It takes no lock but those of the tables, so it runs while the process is
 * wedged in others.
 */
#ifndef INTERLOCK_DIAGNOSTICS_WATCHDOG_H
#define INTERLOCK_DIAGNOSTICS_WATCHDOG_H

/* Has the rings sampled from now on. Without a thread they are not. */
void ilk__watchdog_sample(void);

#endif
