// SPDX-License-Identifier: Apache-2.0
//
// What forces the schedules of operations and queues. A wait that is not ended is recorded as an issue after a limit: a
// lost wake-up does not hang the run.

import Dispatch
import Foundation
import Testing

import Interlock

/// Given by one side, awaited by the other; counts, so it may be given first.
final class Handshake: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    static let limit: TimeInterval = hangLimit / .seconds(1)

    func give(_ count: Int = 1) { for _ in 0..<count { semaphore.signal() } }

    /// Blocks until given.
    func take(_ count: Int = 1, _ location: SourceLocation = #_sourceLocation) {
        for _ in 0..<count where semaphore.wait(timeout: .now() + Self.limit) == .timedOut {
            Issue.record("the signal was not given", sourceLocation: location)
            return
        }
    }

    /// As `take`, in work that may be on a worker of `WorkerPool.shared`: another thread takes its place meanwhile. The
    /// tests that run beside each other would otherwise wait for each other's workers.
    func takeOnWorker(_ location: SourceLocation = #_sourceLocation) {
        WorkerPool.withBlockingCall { take(1, location) }
    }

    /// Whether it is given within some seconds; takes nothing.
    func isGiven(within seconds: TimeInterval) -> Bool {
        guard semaphore.wait(timeout: .now() + seconds) == .success else { return false }
        semaphore.signal()
        return true
    }

    /// Suspends until given.
    func taken(_ count: Int = 1, _ location: SourceLocation = #_sourceLocation) async {
        await blocking { self.take(count, location) }
    }
}

func blocking<Value: Sendable>(
    named name: String = "test",
    _ body: @escaping @Sendable () throws -> Value
) async rethrows -> Value {
    let arrival = Promise<Result<Value, any Error>>()
    try! OwnThread.start(named: name) { arrival.fulfil(Result(catching: body)) }
    switch await arrival.take() {
    case .success(let value): return value
    case .failure(let error): return try { throw error }()
    }
}

/// ``GCD/sync(on:_:)`` for tests, which are asynchronous and block all the same.
@discardableResult
func sync<Value, Failure: Error>(
    on queue: DispatchQueue,
    _ body: () throws(Failure) -> Value
) throws(Failure) -> Value {
    try GCD.sync(on: queue, body)
}

/// Has `queue` run work that ends when the handshake that is returned is given. The work has begun.
func hold(_ queue: DispatchQueue) async -> Handshake {
    let (held, goOn) = (Handshake(), Handshake())
    queue.async {
        held.give()
        goOn.take()
    }
    await held.taken()
    return goOn
}

/// Has `queue` run a blocking job that ends when the event that is returned happens. The job has begun.
func hold(_ queue: InterlockQueue, name: String? = nil) -> Event {
    let (begun, end) = (Event(), Event())
    queue.job(name: name, isBlocking: true) {
        begun.happen()
        end.wait()
    }
    begun.wait()
    return end
}

/// As above, suspending meanwhile.
func hold(_ queue: InterlockQueue, name: String? = nil) async -> Event {
    await blocking { hold(queue, name: name) }
}

/// A runner whose one permit is held until the handshake is given.
func heldRunner(
    on queue: DispatchQueue = .global(qos: .utility)
) async -> (runner: BoundedRunner, goOn: Handshake) {
    let runner = BoundedRunner(limit: 1, on: queue)
    let (begun, goOn) = (Handshake(), Handshake())
    runner.submit {
        begun.give()
        goOn.take()
    }
    await begun.taken()
    return (runner, goOn)
}

/// An operation of a test: says when its work begins, and ends when the test says so; abandoned, if this goes.
final class Held: Sendable {
    let operation: AsyncOperation<Int>
    let begun = Handshake()
    private let kept = VisibleBox<Completion<Int>>()

    init(_ name: String? = nil, _ categories: ExclusionCategory...) {
        operation = AsyncOperation<Int>(name: name) { [kept, begun] completion in
            kept.value.withLock { $0 = completion }
            begun.give()
        }
        for category in categories { operation.excludes(category) }
    }

    /// Once the work has begun.
    var completion: Completion<Int>? { kept.value.withLock { $0 } }

    func end(_ value: Int = 1) { completion?.succeed(value) }
}

/// An operation whose task waits for its cancellation, and then throws it, or gives the value.
func awaitingCancellation(
    _ name: String? = nil,
    begun: Handshake,
    ended: Counter = Counter(),
    value: Int? = nil
) -> AsyncOperation<Int> {
    AsyncOperation<Int>(name: name) {
        begun.give()
        await untilCancelled()
        ended.increment()
        guard let value else { throw CancellationError() }
        return value
    }
}

final class Counter: Sendable {
    private let count = VisibleMutex(0)
    var value: Int { count.withLock { $0 } }
    @discardableResult
    func increment() -> Int {
        count.withLock {
            $0 += 1
            return $0
        }
    }
}

/// Counts how many are inside, and the most there ever were.
final class Crowd: Sendable {
    private let state = VisibleMutex((now: 0, most: 0, total: 0))
    var now: Int { state.withLock { $0.now } }
    var most: Int { state.withLock { $0.most } }
    var total: Int { state.withLock { $0.total } }
    func enter() {
        state.withLock {
            $0.now += 1
            $0.total += 1
            $0.most = max($0.most, $0.now)
        }
    }
    func leave() { state.withLock { $0.now -= 1 } }
}

/// What happened, in order.
final class Trace<Event: Sendable>: Sendable {
    private let log = VisibleMutex<[Event]>([])
    var events: [Event] { log.withLock { $0 } }
    func add(_ event: Event) { log.withLock { $0.append(event) } }
}

final class Tracked: Sendable {
    let alive: Counter
    let freed: Counter
    init(alive: Counter = Counter(), freed: Counter) {
        self.alive = alive
        self.freed = freed
        alive.increment()
    }
    deinit { freed.increment() }
    /// To be captured.
    func touch() {}
}

struct JobFailure: Error, Equatable { var why = "broken" }

/// Waits for a step of another thread that gives no signal, such as freeing an object.
func eventually(
    _ what: Comment,
    _ location: SourceLocation = #_sourceLocation,
    _ condition: @Sendable () -> Bool
) async {
    if await !eventuallySuspending(condition) { Issue.record(what, sourceLocation: location) }
}

#if os(Linux)
/// Limits this process, which must be a child, to `spare` further threads for good. Root is exempt, so the process
/// takes another user's identity.
func refuseThreads(spare: Int = 0) {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    if geteuid() == 0 && setuid(65534) != 0 { exit(71) }
    // Threads may end at any moment: only a limit below the present number refuses all.
    let most = rlim_t(spare == 0 ? 1 : threads + spare)
    var limit = rlimit(rlim_cur: most, rlim_max: most)
    if setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) != 0 { exit(72) }
    guard spare == 0 else { return }
    var thread = pthread_t()
    if pthread_create(&thread, nil, { _ in nil }, nil) == 0 { exit(73) }
}
#endif

func sentence(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}
