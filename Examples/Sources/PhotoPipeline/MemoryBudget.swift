// SPDX-License-Identifier: Apache-2.0
//
// Admission by memory: a picture waits until what it needs is free. The semaphore is served first come, first served,
// and one picture at a time collects its permits, so a large one is not passed by the small ones behind it.

import Interlock

/// The memory of a pipeline, in permits. Any thread may enter and leave.
final class MemoryBudget: Sendable {
    let permits: FIFOSemaphore
    let turn = FIFOSemaphore(permits: 1)

    init(permits: Int) {
        self.permits = FIFOSemaphore(permits: permits)
    }

    /// Takes so many permits, at most all there are. Blocks; not for a thread whose work gives permits back.
    func enter(_ count: Int) {
        turn.withPermit {
            for _ in 0..<count { permits.wait() }
        }
    }

    func leave(_ count: Int) {
        permits.signal(count)
    }
}
