// SPDX-License-Identifier: Apache-2.0
//
// Swift's times as the C core's deadlines: absolute nanoseconds of CLOCK_MONOTONIC.
//
// On Linux `ContinuousClock` reads CLOCK_BOOTTIME, which goes on while the machine is suspended; CLOCK_MONOTONIC, on
// which the C core waits, does not. The two are compared once, when a wait begins: a machine that is suspended during
// the wait sleeps that much longer. The alternative, waking up on CLOCK_BOOTTIME, would need an alarm timer for each
// wait.

import CInterlock

/// The deadline that never passes: `ILK_FOREVER`, which is a macro over a macro and is not imported.
@usableFromInline
let forever = UInt64.max

/// The C deadline for `instant`. An instant that has passed yields a deadline that has passed.
@usableFromInline
func deadline(at instant: ContinuousClock.Instant) -> UInt64 {
    let now = ContinuousClock.now
    // The way back to a distant past may not fit a duration.
    return instant <= now ? 0 : deadline(in: now.duration(to: instant))
}

/// The C deadline `timeout` from now. Saturates: a negative timeout has passed already; one beyond 64 bits of
/// nanoseconds never passes.
@usableFromInline
func deadline(in timeout: Duration) -> UInt64 {
    ilk_deadline_in_ns(nanoseconds(timeout))
}

/// The moment `timeout` from now, for a task's wait. A timeout too long for any clock is cut to one that is never
/// reached: adding it would overflow.
@usableFromInline
func moment(in timeout: Duration) -> ContinuousClock.Instant {
    .now.advanced(by: min(max(timeout, .zero), .seconds(neverInSeconds)))
}

/// Whether an alarm for `instant` would ever go off. The runtime's alarms trap on times that do not fit 64 bits of
/// nanoseconds, so no alarm is set for those.
func isReached(_ instant: ContinuousClock.Instant) -> Bool {
    instant < .now.advanced(by: .seconds(neverInSeconds))
}

/// A century.
private let neverInSeconds = 100 * 366 * 86_400

/// `duration` in whole nanoseconds, rounded up so that a wait is never shorter than its limit; from 0 to `UInt64.max`.
func nanoseconds(_ duration: Duration) -> UInt64 {
    guard duration > .zero else { return 0 }
    // Longer ones do not fit, and of much longer ones even asking for the components traps.
    guard duration < .seconds(18_446_744_073) else { return forever }
    let (seconds, attoseconds) = duration.components
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds + 999_999_999) / 1_000_000_000
}
