// SPDX-License-Identifier: Apache-2.0
//
// Threads for work that blocks. libdispatch's pool on Linux starts with a thread for each processor and
// adds one a second when work stalls, so four closures that sleep on two processors wait for each other
// there; here each has a thread of its own and waits for nobody. A thread is created for the call and
// ends with its closure: work that is worth blocking for is worth the ten microseconds.

import Foundation

enum OwnThread {
    /// Runs `body` on a new thread with that name (the system shows the first 15 bytes).
    static func run(
        named name: String,
        quality: QualityOfService = .default,
        _ body: @escaping @Sendable () -> Void
    ) {
        let thread = Thread(block: body)
        thread.name = name
        thread.qualityOfService = quality
        thread.start()
    }
}
