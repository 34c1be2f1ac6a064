// SPDX-License-Identifier: Apache-2.0
//
// Swift's times as the C core's deadlines: absolute nanoseconds of CLOCK_MONOTONIC.
//
// On Linux `ContinuousClock` reads CLOCK_BOOTTIME, which goes on while the machine is suspended; CLOCK_MONOTONIC does
// not. The two are compared once, when a wait begins: a machine suspended during the wait sleeps that much longer.
// CLOCK_BOOTTIME would need an alarm timer for each wait.

import CInterlock

/// The deadline that never passes: `ILK_FOREVER`, a macro that is not imported.
@usableFromInline
package let forever = UInt64.max

/// The C deadline for `instant`, passed if `instant` has passed.
@usableFromInline
package func deadline(at instant: ContinuousClock.Instant) -> UInt64 {
    let now = ContinuousClock.now
    // The way back to a distant past may not fit a duration.
    return instant <= now ? 0 : deadline(in: now.duration(to: instant))
}

/// The C deadline `timeout` from now. A negative timeout has passed; one beyond 64 bits of nanoseconds never passes.
@usableFromInline
package func deadline(in timeout: Duration) -> UInt64 {
    ilk_deadline_in_ns(nanoseconds(timeout))
}

/// The moment `timeout` from now, for a task's wait. A timeout too long for a clock, whose addition would overflow, is
/// cut to one that is never reached.
@usableFromInline
package func moment(in timeout: Duration) -> ContinuousClock.Instant {
    .now.advanced(by: min(max(timeout, .zero), never))
}

/// Whether nothing can begin any more before `deadline`.
@usableFromInline
package func hasPassed(_ deadline: UInt64) -> Bool { deadline != forever && deadline <= ilk_now_ns() }

/// Whether the deadline of a task's wait, which may have none, has passed.
package func hasPassed(_ deadline: ContinuousClock.Instant?) -> Bool { deadline.map { $0 <= .now } ?? false }

/// Whether an alarm for `instant` would ever go off. The runtime's alarms trap on times beyond 64 bits of nanoseconds.
package func isReached(_ instant: ContinuousClock.Instant) -> Bool {
    instant < .now.advanced(by: never)
}

/// A century.
private let never = Duration.seconds(100 * 366 * 86_400)

// Constants: `Duration.seconds` multiplies in 128 bits, 60 instructions a call.
private let longest = Duration.seconds(18_446_744_073)

/// `duration` in whole nanoseconds up to `UInt64.max`, rounded up so that a wait is never shorter than its limit.
package func nanoseconds(_ duration: Duration) -> UInt64 {
    guard duration > .zero else { return 0 }
    // Longer ones do not fit; of much longer ones even the components trap.
    guard duration < longest else { return forever }
    let (seconds, attoseconds) = duration.components
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds + 999_999_999) / 1_000_000_000
}
