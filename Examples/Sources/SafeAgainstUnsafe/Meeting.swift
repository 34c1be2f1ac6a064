// SPDX-License-Identifier: Apache-2.0
//
// Making a short experiment a concurrent one. A thousand iterations are over in the time that a second
// thread takes to wake up, and would mostly run on one. So the first iteration waits for a second one, which
// is on another thread as its own is busy waiting, and time counts from their meeting.

import Synchronization

/// A point that the first two threads to come to pass together, and all after them without stopping.
final class Meeting: Sendable {
    private let isOpen = Atomic(false)
    private let arrivals = Atomic(0)
    private let opening = Mutex<ContinuousClock.Instant?>(nil)

    /// When the meeting took place. A machine with one free core may never hold it: then it is when the
    /// first thread had waited long enough.
    var time: ContinuousClock.Instant? { opening.withLock { $0 } }

    /// Waits, by spinning and for a few milliseconds at most, until two threads have come.
    func join() {
        // Relaxed: the flag only says that nobody needs to wait. It hands over no data.
        if isOpen.load(ordering: .relaxed) { return }
        let isSecond = arrivals.wrappingAdd(1, ordering: .relaxed).oldValue == 1
        let patience = ContinuousClock.now + .milliseconds(5)
        while !isSecond, !isOpen.load(ordering: .relaxed), ContinuousClock.now < patience {}
        opening.withLock { opening in
            if opening == nil { opening = .now }
        }
        isOpen.store(true, ordering: .relaxed)
    }
}
