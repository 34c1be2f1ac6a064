// SPDX-License-Identifier: Apache-2.0
//
// Real threads for tests that block: neither libdispatch's pool (a thread a core) nor the cooperative pool, which must
// not be blocked. Built on Foundation, not on the toolkit under test.

import Dispatch
import Foundation
import Synchronization
import Testing

/// Runs `body` on `count` threads that start together; returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (_ thread: Int) -> Void) {
    let threads = (0..<count).map { index in TestThread { body(index) } }
    for thread in threads {
        thread.join()
    }
}

final class TestThread: Sendable {
    private let ended = DispatchSemaphore(value: 0)

    /// Starts a thread that runs `body`.
    init(_ body: @escaping @Sendable () -> Void) {
        let ended = ended
        let thread = Thread {
            body()
            ended.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Waits for the end of `body`. Once.
    func join() {
        ended.wait()
    }
}

/// Where threads meet, time after time, and go on within a microsecond where each has a core, or soon has. So they
/// yield, and do not sleep: a thread that wakes another goes on before it. But on a busy machine a yield gives up the
/// rest of a time slice; after one of a millisecond the threads sleep for a while.
final class Meeting: Sendable {
    private static let probes = 100
    private static let longYield = Duration.milliseconds(1)
    private static let arrivalsToSleep = 200

    private let arrived = Atomic<Int>(0)
    private let sleepsUpTo = Atomic<Int>(0)
    private let asleep = Atomic<Int>(0)
    private let allArrived = NSCondition()

    /// Returns when `count` have arrived, at this meeting and all before it.
    func wait(for count: Int) {
        if arrived.add(1, ordering: .sequentiallyConsistent).newValue == count { return wake() }
        for _ in 0..<Self.probes {
            if arrived.load(ordering: .acquiring) >= count { return }
        }
        while sleepsUpTo.load(ordering: .relaxed) < count {
            let start = ContinuousClock.now
            sched_yield()
            if ContinuousClock.now - start > Self.longYield {
                sleepsUpTo.store(count + Self.arrivalsToSleep, ordering: .relaxed)
            }
            if arrived.load(ordering: .acquiring) >= count { return }
        }
        allArrived.lock()
        asleep.add(1, ordering: .sequentiallyConsistent)
        while arrived.load(ordering: .sequentiallyConsistent) < count { allArrived.wait() }
        asleep.subtract(1, ordering: .relaxed)
        allArrived.unlock()
    }

    private func wake() {
        guard asleep.load(ordering: .sequentiallyConsistent) > 0 else { return }
        allArrived.lock()
        allArrived.broadcast()
        allArrived.unlock()
    }
}

/// A value under a lock that ThreadSanitizer sees: the standard library's `Mutex` is not built for it.
// The lock guards the value.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}

/// Runs jobs, and calls a closure on the thread that brings one, which resumes a task.
final class CallingExecutor: TaskExecutor {
    private let running = Atomic<Int>(0)
    private let onNext = Locked<(@Sendable () -> Void)?>(nil)

    /// Its tasks are suspended.
    var isIdle: Bool { running.load(ordering: .acquiring) == 0 }

    func callNext(_ body: @escaping @Sendable () -> Void) { onNext.withLock { $0 = body } }

    func enqueue(_ job: consuming ExecutorJob) {
        onNext.withLock { $0.take() }?()
        running.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        DispatchQueue.global().async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.running.subtract(1, ordering: .releasing)
        }
    }
}

/// Runs jobs; while it is closed it keeps them, and stalls the thread that brings one, if that is asked for.
final class Gate: TaskExecutor {
    private let kept = Locked<[UnownedJob]?>(nil)
    private let stalling = Locked<(isReached: Event, end: Event)?>(nil)
    private let running = Atomic<Int>(0)

    /// Its tasks are suspended.
    var isIdle: Bool { running.load(ordering: .acquiring) == 0 }

    var isKeepingOne: Bool { kept.withLock { $0?.isEmpty == false } }

    func close(stalling events: (isReached: Event, end: Event)? = nil) {
        stalling.withLock { $0 = events }
        kept.withLock { $0 = [] }
    }

    func open() { for job in kept.withLock({ $0.take() }) ?? [] { run(job) } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isKept = kept.withLock { kept in
            kept?.append(job)
            return kept != nil
        }
        if !isKept { return run(job) }
        if let events = stalling.withLock({ $0.take() }) {
            events.isReached.happen()
            events.end.wait()
        }
    }

    private func run(_ job: UnownedJob) {
        running.add(1, ordering: .relaxed)
        DispatchQueue.global().async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.running.subtract(1, ordering: .releasing)
        }
    }
}

/// Something that happens once, for handshakes.
final class Event: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func happen() {
        semaphore.signal()
    }

    /// Waits until it has happened; false after a time in which it should have.
    @discardableResult
    func wait(_ limit: DispatchTimeInterval = .seconds(Int(hangLimit / .seconds(1)))) -> Bool {
        guard semaphore.wait(timeout: .now() + limit) == .success else { return false }
        semaphore.signal()
        return true
    }
}

/// Between two probes for a state that nothing reports: it grows, so that many tests that probe leave the processors to
/// what they wait for.
private struct Pause {
    private var length = Duration.microseconds(10)

    private mutating func next() -> Duration {
        defer { length = min(length * 2, .milliseconds(2)) }
        return length
    }

    mutating func block() { usleep(UInt32(next() / .microseconds(1))) }

    /// A cancelled task has a turn's pause.
    mutating func suspend() async {
        do { try await Task.sleep(for: next()) } catch { await Task.yield() }
    }
}

/// How long what should happen may take on a busy machine.
let hangLimit = Duration.seconds(240)

/// A thread that holds a lock until it is let go.
final class LockHolder: Sendable {
    private let held = Event()
    private let end = Event()
    private let thread: TestThread

    /// Returns when the lock is held.
    init(_ withLock: @escaping @Sendable (() -> Void) -> Void) {
        thread = TestThread { [held, end] in
            withLock {
                held.happen()
                end.wait()
            }
        }
        if !held.wait() { Issue.record("the lock was not had") }
    }

    func letGo() {
        end.happen()
        thread.join()
    }
}

/// Probes until `condition` holds; false if it never does. For states that no thread reports (a queued thread).
func eventually(_ condition: () -> Bool) -> Bool {
    let limit = ContinuousClock.now + hangLimit
    var pause = Pause()
    while !condition() {
        guard ContinuousClock.now < limit else { return false }
        pause.block()
    }
    return true
}

/// Returns when the task has been cancelled; without that, fails the test and returns.
func untilCancelled(_ location: SourceLocation = #_sourceLocation) async {
    if await !eventuallySuspending({ Task.isCancelled }) {
        Issue.record("the task was not cancelled", sourceLocation: location)
    }
}

/// As ``eventually(_:)``, suspending.
func eventuallySuspending(_ condition: () -> Bool) async -> Bool {
    let limit = ContinuousClock.now + hangLimit
    var pause = Pause()
    while !condition() {
        guard ContinuousClock.now < limit else { return false }
        await pause.suspend()
    }
    return true
}

/// The names of the threads of this process, on Linux.
func threadNames() -> [String] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return threads.map { thread in
        let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
        return name.map { String($0.dropLast()) } ?? ""
    }
}

let onLinux: Bool = {
    #if os(Linux)
    true
    #else
    false
    #endif
}()
