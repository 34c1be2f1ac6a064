// SPDX-License-Identifier: Apache-2.0
//
// Threads for work that blocks. libdispatch's pool on Linux starts with a thread for each processor and
// adds one a second when work stalls, so four closures that sleep on two processors wait for each other
// there; here each has a thread of its own and waits for nobody. A thread is created for the call and
// ends with its closure: work that is worth blocking for is worth the ten microseconds.

import Foundation

enum OwnThread {
    /// Runs `body` on a new thread, which the system shows by the first 15 bytes of that name.
    static func run(
        named name: String,
        quality: QualityOfService = .default,
        _ body: @escaping @Sendable () -> Void
    ) {
        let thread = Thread {
            showThread(as: name)
            body()
        }
        thread.qualityOfService = quality
        thread.start()
    }
}

#if os(Linux)
/// Names the calling thread. Foundation tells the system a thread's name only if it is set after the thread has been
/// started, by which time it may have ended, or by the thread itself once whoever started it has noted that it runs.
private func showThread(as name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    var name = name
    // A thread without a name works as well.
    name.withUTF8 { _ = write(file, $0.baseAddress, $0.count) }
    close(file)
}
#else
/// Names the calling thread.
private func showThread(as name: String) {
    Thread.current.name = name
}
#endif
