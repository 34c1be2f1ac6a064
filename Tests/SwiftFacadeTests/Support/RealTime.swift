// SPDX-License-Identifier: Apache-2.0
//
// Real-time scheduling for tests of priority: requests, what the kernel gives a thread, nice values, and an executor
// on a thread so scheduled.

import Foundation
import Interlock
import Synchronization

/// PRIO_PROCESS, an enumeration in glibc and a number in musl.
private let processes: Int32 = 0

enum RealTime {
    /// Whether threads of this process may have real-time priorities. Tests that need them are skipped otherwise.
    static let isAllowed: Bool = {
        let allowed = Atomic<Bool>(false)
        TestThread { allowed.store(become(1), ordering: .releasing) }.join()
        return allowed.load(ordering: .acquiring)
    }()

    /// Gives the calling thread a real-time priority (1 to 99, first in first out), for the rest of its life.
    ///
    /// - Parameter inherited: Whether threads that it starts have it too; otherwise they are ordinary ones.
    @discardableResult
    static func become(_ priority: Int32, inherited: Bool = true) -> Bool {
        var parameters = sched_param()
        parameters.sched_priority = priority
        let resetOnFork: Int32 = 0x4000_0000
        let policy = inherited ? SCHED_FIFO : SCHED_FIFO | resetOnFork
        return pthread_setschedparam(pthread_self(), policy, &parameters) == 0
    }

    /// The calling thread's own real-time priority, 0 for none.
    static var own: Int32 {
        var parameters = sched_param()
        var policy: Int32 = 0
        pthread_getschedparam(pthread_self(), &policy, &parameters)
        return policy == SCHED_FIFO ? parameters.sched_priority : 0
    }

    /// The calling thread's own nice value.
    static var nice: Int32 {
        get { getpriority(processes, 0) }
        set { setpriority(processes, 0, newValue) }
    }

    /// As `own`, with what it was lent.
    static var effective: Int? {
        guard let stat = try? String(contentsOfFile: "/proc/thread-self/stat", encoding: .utf8) else {
            return nil
        }
        // The name may hold spaces; it ends with the last parenthesis. The priority is the 18th field, the state after
        // the name the third; of a real-time thread it is minus one minus its own.
        let fields = stat[stat.lastIndex(of: ")")!...].split(separator: " ").dropFirst()
        guard let kernel = Int(fields[fields.startIndex + 15]) else { return nil }
        return kernel < 0 ? -1 - kernel : 0
    }
}

/// Runs tasks in order on one thread, scheduled as asked for, which ends with ``stop()``.
final class ScheduledExecutor: TaskExecutor {
    private let jobs = SafeArray<UnownedJob>()
    private let wanted = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// On a real-time thread.
    convenience init(priority: Int32, inherited: Bool = true) {
        self.init { RealTime.become(priority, inherited: inherited) }
    }

    /// On an ordinary thread, of a nice value of 1 to 19.
    convenience init(nice: Int32) {
        self.init { RealTime.nice = nice }
    }

    private init(_ becomeScheduled: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            becomeScheduled()
            while true {
                wanted.wait()
                guard let job = jobs.popFirst() else { break }
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
            ended.signal()
        }
        thread.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
        wanted.signal()
    }

    /// Ends the thread, when the tasks have ended.
    func stop() {
        wanted.signal()
        ended.wait()
    }
}
