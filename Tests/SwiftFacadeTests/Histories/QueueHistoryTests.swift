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

import Interlock
import Testing

private struct PlannedJob: Sendable {
    /// `follower`: of the job that its thread added before it. `chained`: it adds the next job.
    enum Kind { case plain, async, follower, barrier, chained }

    let kind: Kind
    var priority = WorkerPool.Priority.normal
    var isCancelled = false
    /// Its thread waits for its end, so that the next barrier comes to a queue without one.
    var isAwaited = false
    /// How long the closure takes.
    let length: Int

    init(isChained: Bool, using random: inout SplitMix) {
        // Barriers, too, begin beside the long ones, if they can.
        let most = isChained ? [1, 1, 2_048] : [8, 8, 256]
        length = Int.random(in: 0..<most.randomElement(using: &random)!, using: &random)
        kind =
            switch Int.random(in: 0..<16, using: &random) {
            case _ where isChained: .chained
            case 0, 1: .barrier
            case 2: .async
            case 3, 4: .follower
            default: .plain
            }
        if isChained { return }
        isCancelled = Int.random(in: 0..<16, using: &random) == 0
        isAwaited = kind == .barrier && Bool.random(using: &random)
        if kind == .plain { priority = [.low, .normal, .normal, .high].randomElement(using: &random)! }
    }
}

private struct Times {
    var begin: UInt64 = 0
    var end: UInt64 = 0
    /// How often it happened.
    var count = 0
}

private struct RecordedJob: CustomStringConvertible {
    let plan: PlannedJob
    /// The call that added it.
    let added: Times
    /// Its closure.
    let ran: Times

    var description: String {
        "\(plan.kind) of \(plan.priority) priority, added \(added.begin) to \(added.end), "
            + "ran \(ran.begin) to \(ran.end)"
    }

    func runs(beside other: RecordedJob) -> Bool { ran.begin < other.ran.end && other.ran.begin < ran.end }

    /// Which promise of a queue with `limit` the two break.
    func broken(with later: RecordedJob, limit: Int?) -> String? {
        let hasBarrier = plan.kind == .barrier || later.plan.kind == .barrier
        if hasBarrier, runs(beside: later) { return "a barrier did not run alone" }
        guard added.end < later.added.begin else { return nil }
        if hasBarrier, later.ran.begin < ran.end {
            return "a barrier did not separate what was added before and after it"
        }
        // A follower becomes ready later than it is added.
        let hasFollower = plan.kind == .follower || later.plan.kind == .follower
        let isInOrder = limit == 1 && !hasFollower && plan.priority == later.plan.priority
        return isInOrder && later.ran.begin < ran.begin ? "what was added first began second" : nil
    }
}

/// The jobs of one round.
// The thread that adds a job writes its `added`, its closure its `ran`. Both are read after the queue's wait.
private final class QueueRound: @unchecked Sendable {
    let limit: Int?
    private let plans: [PlannedJob]
    private let added: UnsafeMutablePointer<Times>
    private let ran: UnsafeMutablePointer<Times>

    /// Where the parts of the two threads end; the rest is the chain.
    private static let ends = [24, 48, 80]

    init(using random: inout SplitMix) {
        limit = [nil, nil, nil, 1, 2, 3].randomElement(using: &random)!
        plans = (0..<Self.ends[2]).map { PlannedJob(isChained: $0 >= Self.ends[1], using: &random) }
        added = .allocate(capacity: plans.count)
        added.initialize(repeating: Times(), count: plans.count)
        ran = .allocate(capacity: plans.count)
        ran.initialize(repeating: Times(), count: plans.count)
    }

    deinit {
        added.deallocate()
        ran.deallocate()
    }

    var jobs: [RecordedJob] {
        plans.indices.map { RecordedJob(plan: plans[$0], added: added[$0], ran: ran[$0]) }
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
                if self.plans[index].isCancelled { last.cancel() }
                if self.plans[index].isAwaited { last.wait() }
            }
        }
        queue.wait()
    }

    private func add(_ index: Int, to queue: InterlockQueue, behind last: Job<Void>) -> Job<Void> {
        added[index].begin = moment()
        defer { added[index].end = moment() }
        let body: @Sendable () -> Void = {
            self.begin(index)
            self.end(index)
        }
        switch plans[index].kind {
        case .plain: return queue.job(priority: plans[index].priority, body)
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
                if index + 1 < self.plans.count { _ = self.add(index + 1, to: queue, behind: last) }
                self.end(index)
            }
        }
    }

    private func begin(_ index: Int) {
        ran[index].begin = moment()
        ran[index].count += 1
        spend(plans[index].length)
    }

    private func end(_ index: Int) { ran[index].end = moment() }

    /// The first promise that is found broken.
    static func broken(by jobs: [RecordedJob], limit: Int?) -> String? {
        var mayNotRun = false
        for job in jobs {
            // A follower does not run where the job before it did not.
            mayNotRun = job.plan.isCancelled || mayNotRun && job.plan.kind == .follower
            if job.ran.count > 1 || job.ran.count == 0 && !mayNotRun {
                return "ran \(job.ran.count) times: \(job)"
            }
        }
        let jobs = jobs.filter { $0.ran.count == 1 }
        for job in jobs {
            for later in jobs where later.added.begin != job.added.begin {
                if let text = job.broken(with: later, limit: limit) { return "\(text): \(job), \(later)" }
            }
            if let limit {
                let beside = jobs.filter { $0.ran.begin <= job.ran.begin && job.ran.begin < $0.ran.end }
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
        var (count, overlapping) = (0, 0)
        repeat {
            let round = QueueRound(using: &random)
            round.play(on: pool)
            let jobs = round.jobs
            count += jobs.count
            overlapping += jobs.count { job in
                jobs.contains { $0.added.begin != job.added.begin && $0.runs(beside: job) }
            }
            if let broken = QueueRound.broken(by: jobs, limit: round.limit) {
                Issue.record("history InterlockQueue, limit \(String(describing: round.limit)): \(broken)")
                return
            }
        } while ContinuousClock.now - start < historyBudget
        let time = ContinuousClock.now - start
        print("history InterlockQueue: \(count) jobs, \(overlapping) ran beside another, \(time)")
    }
}
