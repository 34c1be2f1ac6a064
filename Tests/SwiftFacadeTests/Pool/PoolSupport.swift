// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the pool share: a pool whose threads are held, so that what is submitted waits, and the calls that
// block, out of reach of the suspending forms of the same names.

import Foundation
import Testing

import Interlock

/// A pool all of whose threads are in a job until ``release()``, or until this has gone: what is submitted meanwhile
/// waits.
final class HeldPool: Sendable {
    let pool: WorkerPool
    private let end = FIFOSemaphore(permits: 0)
    private let threads: Int

    init(threads: Int = 1) throws {
        pool = try WorkerPool(name: "held", threads: threads, maximumThreads: threads)
        self.threads = threads
        let begun = Handshake()
        for _ in 0..<threads {
            let isAccepted = pool.submit { [end] in
                begun.give()
                end.wait()
            }
            #expect(isAccepted)
        }
        begun.take(threads)
    }

    func release() { end.signal(threads) }

    /// Releases the threads, and returns when the pool has run all that it has accepted.
    func finish() async throws {
        release()
        pool.close()
        try await pool.wait()
    }

    deinit { release() }
}

/// A closure whose runs, and whose release, are counted.
func counted(_ ran: Counter, _ freed: Counter) -> @Sendable () -> Void {
    let tracked = Tracked(freed: freed)
    return {
        tracked.touch()
        ran.increment()
    }
}

/// Blocking forms, for tests in tasks' closures that run on threads of their own.
func block(_ pool: WorkerPool) { pool.wait() }
func block(_ pool: WorkerPool, timeout: Duration) -> Bool { pool.wait(timeout: timeout) }
func block(_ group: WorkerGroup) { group.wait() }
func block(_ group: WorkerGroup, timeout: Duration) -> Bool { group.wait(timeout: timeout) }

/// The name that the system shows for the calling thread.
func threadName() -> String {
    #if os(Linux)
    let comm = try? Data(contentsOf: URL(fileURLWithPath: "/proc/thread-self/comm"))
    return String(decoding: (comm ?? Data()).dropLast(), as: UTF8.self)
    #else
    return Thread.current.name ?? ""
    #endif
}
