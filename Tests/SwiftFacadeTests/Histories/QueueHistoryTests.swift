// SPDX-License-Identifier: Apache-2.0
//
// Histories of InterlockQueue on real threads: when each job was added, and when its closure ran. What the queue
// promises is said of pairs of such times.
//
// Two threads add jobs to a new queue, and each job of a chain adds the next. A time inside the closure lies inside the
// job's run: closures whose times overlap ran beside each other.
//
// Have been seen to fail on: a barrier whose jobs are held only after it has been added (QueueCore.beginGeneration);
// a limit exceeded by one; the newest of several jobs begun first; a barrier that begins beside a last job; jobs
// that a cancelled barrier lets pass the one before it; jobs that wait for no barrier but the first.

import Foundation
import Interlock
@testable import InterlockSync
import Testing

/// What a closure and the thread that adds it write, each in its own fields.
private struct JobTimes: Sendable, CustomStringConvertible {
    /// `follower`: of the job that its thread added before it. `chained`: it adds the next job.
    enum Kind { case plain, async, follower, barrier, chained }

    let kind: Kind
    var priority = WorkerPool.Priority.normal
    var isCancelled = false
    /// How long the closure takes.
    let length: Int
    /// The call that added it.
    var called: UInt64 = 0
    var returned: UInt64 = 0
    /// The closure; it ran `runs` times.
    var begin: UInt64 = 0
    var end: UInt64 = 0
    var runs = 0

    init(isChained: Bool, using random: inout SplitMix) {
        // Barriers, too, begin beside the long ones, if they can.
        let most = isChained ? [1, 1, 2_048] : [8, 8, 256]
        length = Int.random(in: 0..<most.randomElement(using: &random)!, using: &random)
        kind =
            switch Int.random(in: 0..<16, using: &random) {
            case _ where isChained: .chained
            case 0: .barrier
            case 1, 2: .async
            case 3, 4: .follower
            default: .plain
            }
        if isChained { return }
        isCancelled = Int.random(in: 0..<16, using: &random) == 0
        if kind == .plain { priority = [.low, .normal, .normal, .high].randomElement(using: &random)! }
    }

    var description: String {
        "\(kind) of \(priority) priority, added \(called) to \(returned), ran \(begin) to \(end)"
    }

    func wasAdded(before other: JobTimes) -> Bool { returned < other.called }
    func overlaps(_ other: JobTimes) -> Bool { begin < other.end && other.begin < end }

    /// Which promise of a queue with `limit` the two break.
    func broken(with later: JobTimes, limit: Int?) -> String? {
        let hasBarrier = kind == .barrier || later.kind == .barrier
        if hasBarrier, overlaps(later) { return "a barrier did not run alone" }
        guard wasAdded(before: later) else { return nil }
        if hasBarrier, later.begin < end {
            return "a barrier did not separate what was added before and after it"
        }
        // A follower becomes ready later than it is added.
        let isInOrder = kind != .follower && later.kind != .follower && priority == later.priority
        if limit == 1, isInOrder, later.begin < begin { return "what was added first began second" }
        return nil
    }
}

/// The jobs of one round.
// A job's closure runs after the call that adds it has begun, and is read after the queue's wait.
private final class QueueRound: @unchecked Sendable {
    let limit: Int?
    let jobs: UnsafeMutableBufferPointer<JobTimes>

    /// Where the parts of the two threads end; the rest is the chain.
    private static let ends = [24, 48, 80]

    init(using random: inout SplitMix) {
        limit = [nil, nil, nil, 1, 2, 3].randomElement(using: &random)!
        jobs = .allocate(capacity: Self.ends[2])
        for index in jobs.indices {
            let job = JobTimes(isChained: index >= Self.ends[1], using: &random)
            jobs.initializeElement(at: index, to: job)
        }
    }

    deinit {
        jobs.deinitialize()
        jobs.deallocate()
    }

    func play(on pool: WorkerPool) {
        let queue = InterlockQueue(pool: pool, limit: limit)
        let meeting = Meeting()
        onThreads(2) { thread in
            pinThread(thread)
            meeting.wait(for: 2)
            var last = queue.job {}
            if thread == 0 { _ = self.add(Self.ends[1], to: queue, behind: last) }
            for index in thread * Self.ends[0]..<Self.ends[thread] {
                last = self.add(index, to: queue, behind: last)
                if self.jobs[index].isCancelled { last.cancel() }
            }
        }
        queue.wait()
    }

    private func add(_ index: Int, to queue: InterlockQueue, behind last: Job<Void>) -> Job<Void> {
        jobs[index].called = moment()
        defer { jobs[index].returned = moment() }
        let body: @Sendable () -> Void = {
            self.begin(index)
            self.end(index)
        }
        switch jobs[index].kind {
        case .plain: return queue.job(priority: jobs[index].priority, body)
        case .barrier: return queue.barrier(body)
        case .follower: return last.then(body)
        case .async:
            return queue.job {
                self.begin(index)
                await Task.yield()
                self.end(index)
            }
        case .chained:
            return queue.job {
                self.begin(index)
                if index + 1 < self.jobs.count { _ = self.add(index + 1, to: queue, behind: last) }
                self.end(index)
            }
        }
    }

    private func begin(_ index: Int) {
        jobs[index].begin = moment()
        jobs[index].runs += 1
        spend(jobs[index].length)
    }

    private func end(_ index: Int) { jobs[index].end = moment() }

    /// The first promise that is found broken.
    func broken() -> String? {
        var mayNotRun = false
        for job in jobs {
            // A follower does not run where the job before it did not.
            mayNotRun = job.isCancelled || mayNotRun && job.kind == .follower
            if job.runs != 1, !(job.runs == 0 && mayNotRun) { return "ran \(job.runs) times: \(job)" }
        }
        let ran = jobs.filter { $0.runs == 1 }
        for job in ran {
            for later in ran where later.called != job.called {
                if let text = job.broken(with: later, limit: limit) { return "\(text): \(job), \(later)" }
            }
            if let limit {
                let beside = ran.filter { $0.begin <= job.begin && job.begin < $0.end }
                if beside.count > limit { return "\(beside.count) ran at a time: \(beside)" }
            }
        }
        return nil
    }
}

// contract: InterlockQueue
@Suite(.timeLimit(.minutes(10))) struct QueueHistoryTests {
    @Test func theTimesOfAQueuesJobsKeepItsPromises() throws {
        let pool = try WorkerPool(name: "history", threads: 4)
        var random = SplitMix(state: moment())
        let start = ContinuousClock.now
        var (jobs, overlapping) = (0, 0)
        repeat {
            let round = QueueRound(using: &random)
            round.play(on: pool)
            if let broken = round.broken() {
                Issue.record("history InterlockQueue, limit \(String(describing: round.limit)): \(broken)")
                return
            }
            jobs += round.jobs.count
            overlapping += round.jobs.count { job in
                round.jobs.contains { $0.called != job.called && $0.overlaps(job) }
            }
        } while ContinuousClock.now - start < historyBudget
        print(
            "history InterlockQueue: \(jobs) jobs, \(overlapping) overlap another, "
                + "\(ContinuousClock.now - start): all fit"
        )
    }
}
