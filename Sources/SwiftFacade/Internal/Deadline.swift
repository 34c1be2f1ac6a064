// SPDX-License-Identifier: Apache-2.0
//
// Swift's times as the C core's deadlines: absolute nanoseconds of CLOCK_MONOTONIC.
//
// On Linux `ContinuousClock` reads CLOCK_BOOTTIME, which goes on while the machine sleeps, and the C
// core's waits are on CLOCK_MONOTONIC, which does not. The two are compared once, when a wait begins;
// a machine that is suspended during the wait sleeps that much longer. The alternative, waking up on
// CLOCK_BOOTTIME, would need an alarm timer for each wait.

import CInterlock

/// The deadline that never passes: `ILK_FOREVER`, which is a macro over a macro and is not imported.
@usableFromInline
let forever = UInt64.max

/// The C deadline for `instant`. One that has passed yields a deadline that has passed.
@usableFromInline
func deadline(at instant: ContinuousClock.Instant) -> UInt64 {
    deadline(in: ContinuousClock.now.duration(to: instant))
}

/// The C deadline `timeout` from now. Saturates: a negative timeout has passed already, one too long
/// for 64 bits of nanoseconds never passes.
@usableFromInline
func deadline(in timeout: Duration) -> UInt64 {
    ilk_deadline_in_ns(nanoseconds(timeout))
}

/// `duration` in whole nanoseconds, rounded up so that a wait is never shorter than asked, from 0 to
/// `UInt64.max`.
func nanoseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, tooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = whole.addingReportingOverflow(UInt64(attoseconds + 999_999_999) / 1_000_000_000)
    return tooLong || carried ? forever : sum
}
