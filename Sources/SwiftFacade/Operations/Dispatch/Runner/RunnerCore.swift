// SPDX-License-Identifier: Apache-2.0
//
// The permits of a `BoundedRunner` and the jobs that wait for one, in order of submission.
//
// Invariant: while a job is queued and the runner is not suspended, all permits are out. A permit is given back and
// passed on in one section, so jobs begin in their order. A lane is work on the queue that runs one job after the
// other; a job that waits holds no thread.
//
// A job and the core refer to each other only while the job is queued. Closures are called and released outside the
// lock.

import Dispatch
import InterlockSync

final class RunnerCore: Sendable {
    let limit: Int
    let queue: DispatchQueue
    private let state = VisibleMutex(State())
    private let idle = WaitQueue()

    private struct State {
        var first: RunnerJob?
        var last: RunnerJob?
        var queued = 0
        var running = 0
        var isSuspended = false

        var isIdle: Bool { running == 0 && queued == 0 }

        mutating func append(_ job: RunnerJob) {
            job.state.previous = last
            if let last { last.state.next = job } else { first = job }
            last = job
            queued += 1
        }

        mutating func remove(_ job: RunnerJob) {
            let (previous, next) = (job.state.previous, job.state.next)
            if let previous { previous.state.next = next } else { first = next }
            if let next { next.state.previous = previous } else { last = previous }
            (job.state.previous, job.state.next) = (nil, nil)
            queued -= 1
        }

        /// The job that has its permit now.
        mutating func takeNext() -> RunnerJob? {
            guard !isSuspended, let job = first else { return nil }
            remove(job)
            job.state.phase = .running
            return job
        }
    }

    /// Jobs that a lane runs before other work of the queue gets its turn.
    private static let turn = 32

    init(limit: Int, queue: DispatchQueue) {
        self.limit = limit
        self.queue = queue
    }

    // MARK: Jobs

    /// Begins the job or queues it, unless it was cancelled before; gives it back.
    @discardableResult
    func submit(_ job: RunnerJob) -> RunnerJob {
        let begins = state.withLock { state in
            guard case .made = job.state.phase else { return false }
            if state.isSuspended || state.running == limit || state.queued > 0 {
                job.state.phase = .queued
                state.append(job)
                return false
            }
            state.running += 1
            job.state.phase = .running
            return true
        }
        if begins { begin(job) }
        return job
    }

    /// Ends a job that has not begun; false for others.
    func cancel(_ job: RunnerJob) -> Bool {
        let (ends, isIdle) = state.withLock { state in
            switch job.state.phase {
            case .made: break
            case .queued: state.remove(job)
            case .running, .ended: return (false, false)
            }
            job.state.phase = .ended(ran: false)
            return (true, state.isIdle)
        }
        if ends {
            job.wasCancelled()
            if isIdle { idle.resumeAll() }
        }
        return ends
    }

    /// Gives a permit back after the job that kept it.
    func end(_ job: RunnerJob) { if let next = passOn(job) { begin(next) } }

    /// What the job's end is, once it has ended; otherwise a promise of it.
    func ending(of job: RunnerJob) -> (ran: Bool?, promise: Promise<Bool>?) {
        state.withLock { _ in
            if case .ended(let ran) = job.state.phase { return (ran, nil) }
            let promise = job.state.ending ?? Promise()
            job.state.ending = promise
            return (nil, promise)
        }
    }

    private func begin(_ job: RunnerJob) {
        if job.beginsWithoutThread() { return }
        queue.async { self.runLane(job) }
    }

    private func runLane(_ first: RunnerJob) {
        var frame = EnteredQueue(queue)
        frame.runner = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        withUnsafeMutablePointer(to: &frame) { frame in
            EnteredQueue.with(frame) { QueueTag.running(on: queue) { runJobs(first) } }
        }
    }

    private func runJobs(_ first: RunnerJob) {
        var job = first
        for _ in 1..<Self.turn {
            guard job.run(), let next = passOn(job) else { return }
            if next.beginsWithoutThread() { return }
            job = next
        }
        if job.run() { end(job) }
    }

    /// Ends the job, and gives its permit to the next one or back.
    private func passOn(_ job: RunnerJob) -> RunnerJob? {
        let (next, ending, isIdle) = state.withLock { state in
            job.state.phase = .ended(ran: true)
            let next = state.takeNext()
            if next == nil { state.running -= 1 }
            return (next, job.state.ending, state.isIdle)
        }
        ending?.fulfil(true)
        if isIdle { idle.resumeAll() }
        return next
    }

    // MARK: Suspension

    var isSuspended: Bool { state.withLock { $0.isSuspended } }

    func suspend() { state.withLock { $0.isSuspended = true } }

    func resume() {
        state.withLock { $0.isSuspended = false }
        while let job = takeWithPermit() { begin(job) }
    }

    private func takeWithPermit() -> RunnerJob? {
        state.withLock { state in
            guard state.running < limit, let job = state.takeNext() else { return nil }
            state.running += 1
            return job
        }
    }

    // MARK: Waiting

    var counts: (running: Int, queued: Int) { state.withLock { ($0.running, $0.queued) } }

    private var isIdle: Bool { state.withLock { $0.isIdle } }

    func block(until deadline: UInt64) -> Bool { isIdle || idle.block(until: deadline, admit: { isIdle }) }

    func suspend(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        try await idle.suspend(until: deadline, admit: { self.isIdle }).isGranted()
    }
}
