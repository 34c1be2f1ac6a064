// SPDX-License-Identifier: Apache-2.0
//
// From `Duration` to the times libdispatch waits on. A duration that does not fit is "for ever". Rounding, up, is that
// of `nanoseconds`.

import Dispatch
import InterlockSync

extension DispatchTime {
    /// The moment `duration` from now on the monotonic clock; `.distantFuture` where there is no limit or none that
    /// fits.
    @usableFromInline
    static func after(_ duration: Duration?) -> DispatchTime {
        guard let duration else { return .distantFuture }
        let (sum, overflow) = DispatchTime.now().uptimeNanoseconds
            .addingReportingOverflow(nanoseconds(duration))
        // libdispatch keeps the top bit for wall times: anything from there on is "for ever" to it.
        return overflow || sum > UInt64(Int64.max) ? .distantFuture : DispatchTime(uptimeNanoseconds: sum)
    }

    /// The moment `instant` on the monotonic clock; now where it has passed.
    static func at(_ instant: ContinuousClock.Instant) -> DispatchTime {
        after(ContinuousClock.now.duration(to: instant))
    }
}
