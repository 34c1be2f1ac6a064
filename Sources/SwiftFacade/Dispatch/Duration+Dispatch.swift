// SPDX-License-Identifier: Apache-2.0
//
// From `Duration`, the unit of every time limit in this module, to the times libdispatch waits on. Two
// rules live here: a fraction of a nanosecond is rounded up, so that nothing is early, and what does
// not fit is "for ever" instead of a wrapped number.

import Dispatch

extension Duration {
    /// Whole nanoseconds, rounded up; nil where they do not fit, 0 for what is already over.
    var nanosecondsRoundedUp: UInt64? {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let fraction = UInt64((attoseconds + 999_999_999) / 1_000_000_000)
        let (sum, carry) = whole.addingReportingOverflow(fraction)
        return overflow || carry ? nil : sum
    }
}

extension DispatchTime {
    /// The moment `duration` from now on the monotonic clock; `.distantFuture` where there is no limit
    /// or none that fits.
    static func after(_ duration: Duration?) -> DispatchTime {
        guard let duration, let nanoseconds = duration.nanosecondsRoundedUp else { return .distantFuture }
        let (sum, overflow) = DispatchTime.now().uptimeNanoseconds.addingReportingOverflow(nanoseconds)
        // libdispatch keeps the top bit for wall times: anything from there on is "for ever" to it.
        return overflow || sum > UInt64(Int64.max) ? .distantFuture : DispatchTime(uptimeNanoseconds: sum)
    }
}
