// SPDX-License-Identifier: Apache-2.0
//
// A closure at a moment, for waits of tasks. `Task.sleep` would need a thread of the cooperative pool to begin, and
// those may all be blocked: a C pool of one thread has the timers of the process.

import CInterlock

/// Runs its closure once, no earlier than its moment, unless cancelled before.
// The timer is the C pool's while it is set, and reached through the C pool's lock; afterwards it is not touched.
package final class Alarm: @unchecked Sendable {
    private let body: @Sendable () -> Void
    private let timer: UnsafeMutablePointer<ilk_timer>
    private var isSet = false

    /// - Parameter deadline: on the core's clock, in nanoseconds.
    package init(at deadline: UInt64, _ body: @escaping @Sendable () -> Void) {
        self.body = body
        timer = .allocate(capacity: 1)
        // Retained until the closure begins, or `cancel` takes the timer back.
        let context = Unmanaged.passRetained(self)
        ilk_timer_init(
            timer,
            { Unmanaged<Alarm>.fromOpaque($0!).takeRetainedValue().body() },
            context.toOpaque()
        )
        if let pool = Self.pool, ilk_pool_submit_at(pool, timer, deadline) == ILK_OK {
            isSet = true
        } else {
            context.release()
            sleep(until: deadline)
        }
    }

    deinit { timer.deallocate() }

    /// Prevents the closure, unless it has begun. Does not wait for it. By the thread or task that made the alarm.
    package func cancel() {
        guard isSet, let pool = Self.pool else { return }
        if ilk_pool_cancel(pool, timer) { Unmanaged.passUnretained(self).release() }
    }

    /// Does the alarm's work if the system makes no thread: late where all threads of the cooperative pool are blocked.
    private func sleep(until deadline: UInt64) {
        Task.detached { [body] in
            let now = ilk_now_ns()
            if deadline > now { try? await Task.sleep(for: .nanoseconds(Int64(clamping: deadline - now))) }
            body()
        }
    }

    // A C pool, which any thread may call.
    private nonisolated(unsafe) static let pool: OpaquePointer? = {
        var pool: OpaquePointer?
        var options = ilk_pool_options()
        options.threads = 1
        options.max_threads = 1
        return "interlock.timer".withCString { name in
            options.name = name
            return ilk_pool_create(&pool, &options) == ILK_OK ? pool : nil
        }
    }()
}
