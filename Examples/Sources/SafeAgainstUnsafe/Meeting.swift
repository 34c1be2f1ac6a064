// SPDX-License-Identifier: Apache-2.0
//
// Makes a short experiment a concurrent one: a thousand iterations take less time than a second thread needs to wake
// up. Therefore the first two iterations exchange a ball until one exchange is so fast that both threads must run at
// once. Then the measured time begins.

import Synchronization

/// A point that the first two arriving threads leave together, each on its own core.
final class Meeting: Sendable {
    // All relaxed: they carry none of the experiment's data.
    private let arrivals = Atomic(0)
    private let throwsSoFar = Atomic(0)
    private let isOpen = Atomic(false)
    private let opening = Mutex<ContinuousClock.Instant?>(nil)

    private static let patience = Duration.milliseconds(50)
    private static let throwsInASeries = 64
    /// A throw takes a tenth of a microsecond between cores, and thousands on one core.
    private static let fastSeries = Duration.microseconds(50)

    /// When the meeting took place. On one core it never does: then when the first thread had waited long enough.
    var time: ContinuousClock.Instant? { opening.withLock { $0 } }

    /// Spins until two threads run at the same time, for some turns of a busy machine's scheduler at most. After that
    /// it does nothing.
    func join() {
        if isOpen.load(ordering: .relaxed) { return }
        switch arrivals.wrappingAdd(1, ordering: .relaxed).oldValue {
        case 0: lead()
        case 1: follow()
        default: while !isOpen.load(ordering: .relaxed) {}
        }
    }

    private func lead() {
        let end = ContinuousClock.now + Self.patience
        var begin = ContinuousClock.now
        var thrown = 0
        while ContinuousClock.now < end {
            throwsSoFar.store(thrown + 1, ordering: .relaxed)
            while throwsSoFar.load(ordering: .relaxed) == thrown + 1, ContinuousClock.now < end {}
            thrown += 2
            if thrown.isMultiple(of: Self.throwsInASeries) {
                let now = ContinuousClock.now
                if begin.duration(to: now) < Self.fastSeries { break }
                begin = now
            }
        }
        opening.withLock { $0 = .now }
        isOpen.store(true, ordering: .relaxed)
    }

    /// Throws each ball back: odd numbers are the other thread's.
    private func follow() {
        while !isOpen.load(ordering: .relaxed) {
            let thrown = throwsSoFar.load(ordering: .relaxed)
            if !thrown.isMultiple(of: 2) { throwsSoFar.store(thrown + 1, ordering: .relaxed) }
        }
    }
}
