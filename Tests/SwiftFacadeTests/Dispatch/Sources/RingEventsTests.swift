// SPDX-License-Identifier: Apache-2.0
//
// The elements of rings as events of dispatch queues and of an InterlockQueue: one closure at a time, in bursts, and
// the end.

import CInterlock
import Dispatch
import Synchronization
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync

/// The queues that the events come on.
enum EventQueue: CaseIterable, Sendable {
    case serial, concurrent, interlock

    func make() -> Made {
        switch self {
        case .serial: .dispatch(GCD.serialQueue(label: "events"))
        case .concurrent: .dispatch(GCD.concurrentQueue(label: "events"))
        case .interlock: .interlock(InterlockQueue(name: "events"))
        }
    }

    enum Made: Sendable {
        case dispatch(DispatchQueue)
        case interlock(InterlockQueue)

        func elements<Element>(
            of ring: MPMCRing<Element>,
            _ body: @escaping @Sendable (consuming sending Element) -> Void
        ) -> RingEvents {
            switch self {
            case .dispatch(let queue): GCD.elements(of: ring, on: queue, body)
            case .interlock(let queue): queue.elements(of: ring, body)
            }
        }

        func elements<Element>(
            of consumer: consuming sending SPSCRing<Element>.Consumer,
            _ body: @escaping @Sendable (consuming sending Element) -> Void
        ) -> RingEvents {
            switch self {
            case .dispatch(let queue): GCD.elements(of: consumer, on: queue, body)
            case .interlock(let queue): queue.elements(of: consumer, body)
            }
        }
    }
}

// contract: RingEvents, GCD, InterlockQueue
@Suite(.timeLimit(.minutes(10))) struct RingEventsTests {
    // MARK: Elements

    @Test(arguments: EventQueue.allCases)
    func everyElementComesOnceAndInOrderOneCallAtATime(kind: EventQueue) async throws {
        let (ring, crowd, seen) = (try MPMCRing<Int>(capacity: 7), Crowd(), Trace<Int>())
        let events = kind.make().elements(of: ring) { element in
            crowd.enter()
            seen.add(element)
            crowd.leave()
        }
        for element in 0..<5_000 { #expect(await ring.push(element).isPushed) }
        ring.close()
        try await events.finished()
        #expect(seen.events == Array(0..<5_000) && crowd.most == 1 && ring.count == 0)
        #expect(events.closingError == nil && !events.cancel())
    }

    /// Each push finds the ring empty and its events at rest: a lost wake-up hangs it.
    @Test(arguments: EventQueue.allCases)
    func everyBurstHasItsJob(kind: EventQueue) async throws {
        let answers = try MPMCRing<Int>(capacity: 1)
        try await SPSCRing<Int>(capacity: 1).split { (producer, consumer) async throws(any Error) -> Void in
            let events = kind.make().elements(of: consumer) { #expect(answers.tryPush($0).isPushed) }
            for round in 0..<3_000 {
                #expect(producer.tryPush(round).isPushed)
                #expect(try await answers.pop() == round)
            }
            producer.close(throwing: JobFailure(why: "no more"))
            try await events.finished()
            #expect(events.closingError as? JobFailure == JobFailure(why: "no more"))
        }
    }

    /// The pushes come at any step of the job that goes to rest.
    @Test(arguments: EventQueue.allCases, [UInt64(1)])
    func aPushBesideAJobThatGoesToRestIsServed(kind: EventQueue, seed: UInt64) async throws {
        let (ring, served) = (try MPMCRing<Int>(capacity: 1), Counter())
        let events = kind.make().elements(of: ring) { _ in served.increment() }
        await blocking {
            var random = SplitMix(state: seed)
            for round in 1...5_000 {
                #expect(ring.tryPush(round).isPushed)
                var probes = 0
                while served.value < round, probes < 1_000 {
                    ilk_cpu_relax()
                    probes += 1
                }
                guard eventually({ served.value == round }) else {
                    Issue.record("seed \(seed)")
                    return
                }
                for _ in 0..<random.next() % 256 { ilk_cpu_relax() }
            }
        }
        ring.close()
        try await events.finished()
    }

    /// job        goes on, probes the ring                        is about to rest: goes round, or ends
    /// others                               push, or cancel
    @Test(arguments: [false, true])
    func whatComesWhileAJobProbesIsNotLost(cancels: Bool) async throws {
        let (ring, turns, sources) = (try MPMCRing<Int>(capacity: 1), Counter(), Promise<RingSource>())
        let queue = GCD.serialQueue(label: "events")
        let source = RingSource(
            { job, _ in queue.async { job() } },
            in: { $0.add(ring.port, ILK_READABLE, $1) }
        ) {
            if turns.increment() == 1 {
                sources.block()
                if cancels { sources.value?.cancel() } else { sources.value?.tell() }
            }
            return .nothing
        }
        sources.fulfil(source)
        source.begin()
        if !cancels {
            await eventually("the job goes round") { turns.value == 2 }
            source.cancel()
        }
        #expect(try await source.finished(until: .now + hangLimit))
    }

    @Test(arguments: [EventQueue.serial, .concurrent])
    func theClosureRunsOnItsQueue(kind: EventQueue) async throws {
        guard case .dispatch(let queue) = kind.make() else { return }
        let ring = try filled(0..<3)
        ring.close()
        let events = GCD.elements(of: ring, on: queue) { _ in dispatchPrecondition(condition: .onQueue(queue))
        }
        try await events.finished()
        #expect(ring.count == 0)
    }

    @Test(arguments: [EventQueue.serial, .interlock])
    func aBurstGivesOtherWorkItsTurn(kind: EventQueue) async throws {
        let (ring, seen) = (try filled(0..<200), Counter())
        let between: Int
        let events: RingEvents
        switch kind.make() {
        case .dispatch(let queue):
            let goOn = await hold(queue)
            events = GCD.elements(of: ring, on: queue) { _ in seen.increment() }
            let counts = Promise<Int>()
            queue.async { counts.fulfil(seen.value) }
            goOn.give()
            between = await counts.take()
        case .interlock:
            let queue = InterlockQueue(name: "events", limit: 1, isSuspended: true)
            events = queue.elements(of: ring) { _ in seen.increment() }
            let job = queue.job { seen.value }
            queue.resume()
            between = try await job.value
        }
        ring.close()
        try await events.finished()
        #expect(between <= 64 && seen.value == 200, "\(between)")
    }

    @Test(arguments: [(elements: 10, jobs: 1), (elements: 70, jobs: 2)])
    func aJobServesABurst(elements: Int, jobs: Int) async throws {
        let (ring, queue, accepted) = (
            try filled(0..<elements), GCD.serialQueue(label: "events"), Counter()
        )
        ring.close()
        let source = RingSource(
            ring,
            by: { job, _ in
                accepted.increment()
                queue.async { job() }
            }
        ) { _ in }
        source.begin()
        #expect(try await source.finished(until: .now + hangLimit))
        #expect(ring.count == 0 && accepted.value == jobs)
    }

    @Test func noJobWaitsWhileTheRingIsEmpty() async throws {
        let (ring, queue, seen) = (try MPMCRing<Int>(capacity: 1), InterlockQueue(name: "events"), Counter())
        let events = queue.elements(of: ring) { _ in seen.increment() }
        await eventually("the first job finds nothing") { queue.count == 0 }
        #expect(seen.value == 0 && ring.tryPush(1).isPushed)
        await eventually("a job serves it") { seen.value == 1 && queue.count == 0 }
        #expect(events.cancel())
        try await events.finished()
        #expect(ring.tryPush(2).isPushed && ring.count == 1)
    }

    // MARK: The end

    @Test(arguments: EventQueue.allCases)
    func theClosureMayCancel(kind: EventQueue) async throws {
        let (ring, seen, own) = (try filled(0..<10), Trace<Int>(), Promise<RingEvents>())
        let events = kind.make().elements(of: ring) { element in
            seen.add(element)
            guard element == 3 else { return }
            own.block()
            #expect(own.value?.cancel() == true)
        }
        own.fulfil(events)
        try await events.finished()
        #expect(seen.events == [0, 1, 2, 3] && ring.count == 6, "what it was not given is in the ring")
        #expect(!events.cancel())
    }

    /// closure   runs …                                    … and returns
    /// cancel            returns at once
    /// finished                            times out                      returns
    @Test(arguments: EventQueue.allCases)
    func finishedWaitsForTheClosure(kind: EventQueue) async throws {
        let (begun, goOn) = (Handshake(), Handshake())
        let freed = Counter()
        let tracked = Tracked(freed: freed)
        let ring = try filled(0..<2)
        let events = kind.make().elements(of: ring) { [tracked] _ in
            tracked.touch()
            begun.give()
            goOn.takeOnWorker()
        }
        _ = consume tracked
        await begun.taken()
        #expect(events.cancel() && !events.cancel())
        #expect(try await !events.finished(timeout: .milliseconds(1)))
        #expect(try await !events.finished(timeout: .zero))
        #expect(freed.value == 0)
        goOn.give()
        #expect(try await events.finished(timeout: hangLimit))
        await eventually("the closure is released") { freed.value == 1 }
        #expect(ring.count == 1)
        let cancelled = Task {
            await untilCancelled()
            let other = kind.make().elements(of: ring) { _ in }
            await #expect(throws: CancellationError.self) { try await other.finished() }
        }
        cancelled.cancel()
        await cancelled.value
    }

    /// events     run the closure, cancelled     release it      announce the end: resume the task
    /// task                                                                    finds it released
    @Test func theClosureIsReleasedBeforeTheEndIsAnnounced() async throws {
        let (begun, goOn, freed) = (Handshake(), Handshake(), Counter())
        let (executor, ring) = (CallingExecutor(), try filled(0..<1))
        let tracked = Tracked(freed: freed)
        let events = GCD.elements(of: ring, on: GCD.serialQueue(label: "events")) { [tracked] _ in
            tracked.touch()
            begun.give()
            goOn.take()
        }
        _ = consume tracked
        await begun.taken()
        let task = Task(executorPreference: executor) { try await events.finished() }
        #expect(await eventuallySuspending { executor.isIdle })
        let freedFirst = Promise<Int>()
        executor.callNext { freedFirst.fulfil(freed.value) }
        #expect(events.cancel())
        goOn.give()
        try await task.value
        #expect(await freedFirst.take() == 1)
    }

    @Test(arguments: EventQueue.allCases)
    func cancellingAtRestReleasesTheClosureAndTheConsumer(kind: EventQueue) async throws {
        let freed = Counter()
        for drops in [false, true] {
            try await SPSCRing<Int>(capacity: 1).split {
                (producer, consumer) async throws(any Error) -> Void in
                let (tracked, served) = (Tracked(freed: freed), Counter())
                var events: RingEvents? = kind.make().elements(of: consumer) { [tracked] _ in
                    tracked.touch()
                    served.increment()
                }
                _ = consume tracked
                #expect(producer.tryPush(1).isPushed)
                await eventually("it is served") { served.value == 1 }
                #expect(producer.isClosed == false)
                if drops { events = nil } else { #expect(events?.cancel() == true) }
                // At rest, or in its last job.
                let port = producer.port
                await eventually("the consumer goes") { port.isClosed }
            }
            #expect(freed.value == (drops ? 2 : 1))
        }
    }

    /// Cancelled at rest, at the end of its ring, or with its job: nothing keeps it.
    @Test(arguments: ["cancelled", "drained", "dropped"])
    func aSourceThatHasEndedIsReleased(how: String) async throws {
        weak var seen: RingSource?
        do {
            let (ring, queue) = (try MPMCRing<Int>(capacity: 1), GCD.serialQueue(label: "events"))
            let source = RingSource(
                ring,
                by: { job, dropped in if how == "dropped" { dropped() } else { queue.async { job() } } }
            ) { _ in }
            seen = source
            source.begin()
            queue.sync {}
            if how == "cancelled" { #expect(source.cancel()) }
            if how == "drained" { ring.close() }
            #expect(try await source.finished(until: .now + hangLimit))
        }
        #expect(await eventuallySuspending { seen == nil })
    }

    /// The job waits in a queue that ends it: by its cancellation, or because the queue was shut down before.
    @Test(arguments: [false, true])
    func aQueueThatEndsItsJobEndsTheEvents(shutDown: Bool) async throws {
        let ring = try filled(0..<2)
        let queue = InterlockQueue(name: "events", isSuspended: !shutDown)
        if shutDown { _ = await queue.shutDown(within: .seconds(100)) }
        let events = queue.elements(of: ring) { _ in Issue.record("it never ran") }
        if !shutDown { queue.cancelAll() }
        try await events.finished()
        queue.resume()
        #expect(ring.count == 2 && !events.cancel())
    }

    /// Nothing else has the queue, which resumes as the events go.
    @Test(arguments: [false, true])
    func eventsOfASuspendedQueueThatNothingElseHasAreFreed(cancels: Bool) async throws {
        let ring = try filled(0..<2)
        let freed = Counter()
        do {
            let tracked = Tracked(freed: freed)
            let events = InterlockQueue(name: "events", isSuspended: true).elements(of: ring) { _ in
                tracked.touch()
            }
            if cancels { events.cancel() }
        }
        await eventually("the closure is freed") { freed.value == 1 }
        #expect(ring.count == 2)
    }

    /// A push finds the queue closed, on its own thread.
    @Test func aPushThatFindsTheQueueShutDownEndsTheEvents() async throws {
        let (ring, queue) = (try MPMCRing<Int>(capacity: 1), InterlockQueue(name: "events"))
        let events = queue.elements(of: ring) { _ in Issue.record("it never ran") }
        await eventually("it is at rest") { queue.count == 0 }
        _ = await queue.shutDown(within: .seconds(100))
        #expect(ring.tryPush(1).isPushed)
        try await events.finished()
        #expect(ring.count == 1)
    }

    /// Pushes, cancellations and other consumers at any moment.
    @Test(arguments: EventQueue.allCases)
    func nothingIsLostBesideCancellations(kind: EventQueue) async throws {
        let (ring, queue) = (try MPMCRing<Int>(capacity: 4), kind.make())
        let served = Atomic<Int>(0)
        let rounds = 1_000
        for round in 0..<rounds {
            let events = queue.elements(of: ring) { served.add($0, ordering: .relaxed) }
            async let pushed = ring.push(round).isPushed
            if round.isMultiple(of: 3) { await Task.yield() }
            #expect(events.cancel())
            #expect(await pushed)
            try await events.finished()
            if ring.count == 4, let left = ring.tryPop() { served.add(left, ordering: .relaxed) }
        }
        while let left = ring.tryPop() { served.add(left, ordering: .relaxed) }
        #expect(served.load(ordering: .relaxed) == rounds * (rounds - 1) / 2)
    }
}
