// SPDX-License-Identifier: Apache-2.0
//
// Programs that must not compile, each with a right twin that must: the compiler runs on both against the module under
// test. A wrong program names the words the compiler must say, so that it fails for its own reason; the twin shows that
// nothing else is wrong.
//
// Ownership and regions are checked after type checking: `-typecheck` alone would accept all of them.

import Foundation
import Testing
// contract: AsyncMutex
@Suite struct WrongProgramTests {
    struct Program: CustomTestStringConvertible, Sendable {
        let claim: String
        let right: String
        let wrong: String
        /// What the compiler must say to the wrong one.
        let complaint: String
        var flags: [String] = []

        var testDescription: String { claim }
    }

    /// What is only as Sendable as its contents.
    private static let containers = [
        ("ReadWriteLock([0])", "ReadWriteLock(Box())"),
        ("SharedReadWriteLock([0])", "SharedReadWriteLock(Box())"),
        ("SafeArray<Int>()", "SafeArray<Box>()"),
    ].map { sound, unsound in
        Program(
            claim: "\(unsound), of what is not Sendable, stays on its thread",
            right: "final class Sound: Sendable { let container = \(sound) }",
            wrong: """
                final class Box { var value = 0 }
                final class Unsound: Sendable { let container = \(unsound) }
                """,
            complaint: "contains non-Sendable type 'Box'"
        )
    }

    /// An async function that would block its thread in a call is asked to suspend.
    private static let blockingFunctions = [
        ("barrier: Barrier", "_ =", "barrier.wait()"),
        ("mutex: borrowing PriorityInheritingMutex<Int>", "", "mutex.withLock { $0 += 1 }"),
        ("semaphore: FIFOSemaphore", "", "semaphore.wait()"),
        ("latch: Latch", "_ =", "latch.wait(timeout: .seconds(1))"),
        ("operation: AsyncOperation<Int>", "_ =", "operation.wait(timeout: .zero)"),
    ].map { parameter, ignore, call in
        Program(
            claim: "an async function suspends in \(call)",
            right: "func f(_ \(parameter)) async throws { \(ignore) try await \(call) }",
            wrong: "func f(_ \(parameter)) async throws { \(ignore) \(call) }",
            complaint: "not marked with 'await'"
        )
    }

    /// A task without an await learns that a call blocks, and what to use.
    private static let blockingTasks = [
        (
            "array: SafeArray<Int>", "", "array.withWriteLock(when: { $0.count > 1 }) { $0 = [] }",
            "it blocks the thread; use `try await withWriteLock`"
        ),
        (
            "operation: AsyncOperation<Int>", "_ =", "operation.wait()",
            "it blocks the thread; use `try await wait()`"
        ),
        (
            "group: DispatchGroup", "_ =", "group.waitReport(timeout: nil)",
            "use `try await waitReport(timeout:)`"
        ),
        (
            "numbers: [Int]", "_ =", "numbers.concurrentMap { $0 + 1 }",
            "put `try await` before the call"
        ),
    ].map { parameter, ignore, call, complaint in
        Program(
            claim: "a task without an await learns that it blocks in \(call)",
            right: "func f(_ \(parameter)) { Task { \(ignore) try await \(call) } }",
            wrong: "func f(_ \(parameter)) { Task { \(ignore) \(call) } }",
            complaint: complaint
        )
    }

    static let programs: [Program] = others + containers + blockingFunctions + blockingTasks

    private static let others: [Program] = [
        Program(
            claim: "a ring is split once",
            right: "func f(_ ring: consuming SPSCRing<Int>) { ring.split { _, _ in } }",
            wrong: """
                func f(_ ring: consuming SPSCRing<Int>) {
                    ring.split { _, _ in }
                    ring.split { _, _ in }
                }
                """,
            complaint: "'ring' consumed more than once"
        ),
        Program(
            claim: "a producer is not copied",
            in: "func f(_ ring: consuming SPSCRing<Int>)",
            right: "ring.split { producer, _ in let same = producer; _ = same.tryPush(1) }",
            wrong:
                "ring.split { producer, _ in let second = producer; _ = second.tryPush(1); _ = producer.tryPush(2) }",
            complaint: "used after consume"
        ),
        Program(
            claim: "a producer is not made by hand",
            right: "func f(_ ring: borrowing SPSCRing<Int>.Producer) { _ = ring.count }",
            wrong: "func f() { _ = SPSCRing<Int>.Producer() }",
            complaint: "initializer is inaccessible"
        ),
        Program(
            claim: "a producer is not used after it has gone",
            in: "func f(_ ring: consuming SPSCRing<Int>)",
            right: "ring.split { producer, _ in _ = producer.tryPush(1); _ = consume producer }",
            wrong: "ring.split { producer, _ in _ = consume producer; _ = producer.tryPush(1) }",
            complaint: "used after consume"
        ),
        Program(
            claim: "a producer is on one thread at a time",
            in: "func f(_ ring: consuming SPSCRing<Int>)",
            right: """
                ring.split { producer, consumer in
                    Task { _ = producer.tryPush(1) }
                    Task { _ = consumer.tryPop() }
                }
                """,
            wrong: """
                ring.split { producer, consumer in
                    Task { _ = producer.tryPush(1) }
                    _ = producer.tryPush(2)
                }
                """,
            complaint: "risks causing data races"
        ),
        Program(
            claim: "a consumer does not go into a closure that may run on several threads",
            in: """
                func several(_ body: @escaping @Sendable () -> Void) {}
                func f(_ ring: consuming SPSCRing<Int>)
                """,
            right: """
                ring.split { _, consumer in
                    let handoff = Handoff(consumer)
                    several { _ = handoff.take().tryPop() }
                }
                """,
            wrong: "ring.split { _, consumer in several { _ = consumer.tryPop() } }",
            complaint: "non-Sendable type 'SPSCRing<Int>.Consumer'"
        ),
        Program(
            claim: "a consumer is not used beside the loop over its elements",
            in: "func f(_ consumer: consuming SPSCRing<Int>.Consumer) async throws",
            right: "for try await _ in consumer.elements() {}",
            wrong: """
                for try await _ in consumer.elements() {}
                _ = consumer.tryPop()
                """,
            complaint: "used after consume"
        ),
        Program(
            claim: "an actor is not re-entered while its producer suspends",
            right: """
                func f(_ producer: consuming sending SPSCRing<Int>.Producer) async {
                    var producer = producer
                    while await producer.push(1).isPushed {}
                }
                """,
            wrong: """
                actor Sender {
                    var producer: SPSCRing<Int>.Producer
                    init(_ producer: consuming sending SPSCRing<Int>.Producer) { self.producer = producer }
                    func send() async { while await producer.push(1).isPushed {} }
                }
                """,
            complaint:
                "cannot call mutating async function 'push(isolation:_:)' on actor-isolated property 'producer'"
        ),
        Program(
            claim: "an actor is not re-entered while its consumer suspends",
            right: """
                func f(_ consumer: consuming sending SPSCRing<Int>.Consumer) async throws {
                    var consumer = consumer
                    while try await consumer.pop(timeout: .seconds(1)) != .closed {}
                }
                """,
            wrong: """
                actor Receiver {
                    var consumer: SPSCRing<Int>.Consumer
                    init(_ consumer: consuming sending SPSCRing<Int>.Consumer) { self.consumer = consumer }
                    func receive() async throws { while try await consumer.pop(timeout: .seconds(1)) != .closed {} }
                }
                """,
            complaint:
                "cannot call mutating async function 'pop(isolation:timeout:)' on actor-isolated property 'consumer'"
        ),
        Program(
            claim: "a producer that suspends is a variable",
            right: """
                actor Sender {
                    let producer: SPSCRing<Int>.Producer
                    init(_ producer: consuming sending SPSCRing<Int>.Producer) { self.producer = producer }
                    func send() async { while !producer.tryPush(1).isPushed { await Task.yield() } }
                }
                """,
            wrong: """
                actor Sender {
                    let producer: SPSCRing<Int>.Producer
                    init(_ producer: consuming sending SPSCRing<Int>.Producer) { self.producer = producer }
                    func send() async { while await !producer.push(1).isPushed {} }
                }
                """,
            complaint: "use `await push`, on a producer that is a `var`"
        ),
        Program(
            claim: "two tasks do not share a producer that suspends",
            in: "func f(_ ring: consuming SPSCRing<Int>)",
            right: """
                ring.split { producer, _ in
                    var producer = producer
                    Task { while await producer.push(1).isPushed {} }
                }
                """,
            wrong: """
                ring.split { producer, _ in
                    var producer = producer
                    Task { while await producer.push(1).isPushed {} }
                    Task { while await producer.push(2).isPushed {} }
                }
                """,
            complaint: "risks causing data races"
        ),
        Program(
            claim: "two child tasks do not share a producer",
            in: "func f(_ ring: consuming SPSCRing<Int>) async",
            right: """
                await ring.split { producer, _ in
                    async let first = producer.tryPush(1).isPushed
                    _ = await first
                }
                """,
            wrong: """
                await ring.split { producer, _ in
                    async let first = producer.tryPush(1).isPushed
                    async let second = producer.tryPush(2).isPushed
                    _ = await (first, second)
                }
                """,
            complaint: "sending 'producer' risks causing data races"
        ),
        Program(
            claim: "two tasks do not share the loop over a consumer",
            in: "func f(_ consumer: consuming sending SPSCRing<Int>.Consumer)",
            right: """
                let iterator = consumer.elements().makeAsyncIterator()
                Task { while try await iterator.next() != nil {} }
                """,
            wrong: """
                let iterator = consumer.elements().makeAsyncIterator()
                Task { while try await iterator.next() != nil {} }
                Task { while try await iterator.next() != nil {} }
                """,
            complaint: "risks causing data races"
        ),
        Program(
            claim: "an end does not go into a loop that runs on several threads",
            right: """
                func f(_ ring: MPMCRing<Int>) {
                    DispatchQueue.concurrentPerform(iterations: 2) { _ in _ = ring.tryPush(1) }
                }
                """,
            wrong: """
                func f(_ ring: consuming SPSCRing<Int>) {
                    ring.split { producer, _ in
                        DispatchQueue.concurrentPerform(iterations: 2) { _ in _ = producer.tryPush(1) }
                    }
                }
                """,
            complaint: "capture of 'producer' with non-Sendable type"
        ),
        Program(
            claim: "an element is not used after it has been pushed",
            right: """
                final class Box { var value = 0 }
                func f(_ ring: MPMCRing<Box>) { let box = Box(); box.value = 1; _ = ring.tryPush(box) }
                """,
            wrong: """
                final class Box { var value = 0 }
                func f(_ ring: MPMCRing<Box>) { let box = Box(); _ = ring.tryPush(box); box.value = 1 }
                """,
            complaint: "risks causing data races"
        ),
        Program(
            claim: "an element that is not Sendable does not go in through slots",
            right: """
                final class Box: Sendable {}
                func f(_ producer: inout SPSCRing<Box>.Producer, _ box: Box) {
                    producer.withSlots(atMost: 1) { $0.append(box) }
                }
                """,
            wrong: """
                final class Box { var value = 0 }
                func f(_ producer: inout SPSCRing<Box>.Producer, _ box: Box) {
                    producer.withSlots(atMost: 1) { $0.append(box) }
                }
                """,
            complaint: "type 'Box' does not conform to the 'Sendable' protocol"
        ),
        Program(
            claim: "an element that is shown in place does not leave for another thread",
            right: """
                final class Box: Sendable {}
                func hand(_ box: sending Box) {}
                func f(_ consumer: inout SPSCRing<Box>.Consumer) {
                    consumer.withElements(atMost: 1) { elements in hand(elements[0]) }
                }
                """,
            wrong: """
                final class Box { var value = 0 }
                func hand(_ box: sending Box) {}
                func f(_ consumer: inout SPSCRing<Box>.Consumer) {
                    consumer.withElements(atMost: 1) { elements in hand(elements[0]) }
                }
                """,
            complaint: "risks causing data races"
        ),
        Program(
            claim: "a refused element comes back, also one that is not Sendable, and is not lost in silence",
            right: """
                final class Box { var value = 0 }
                func f(_ ring: MPMCRing<Box>) -> Box? { ring.tryPush(Box()).refused() }
                """,
            wrong: """
                final class Box { var value = 0 }
                func f(_ ring: MPMCRing<Box>) { ring.tryPush(Box()) }
                """,
            complaint: "result of call to 'tryPush' is unused",
            flags: ["-warnings-as-errors"]
        ),
        Program(
            claim: "a refused noncopyable element is not lost in silence",
            right: """
                struct Unique: ~Copyable {}
                func f(_ ring: MPMCRing<Unique>) async -> Bool { await ring.push(Unique()).isPushed }
                """,
            wrong: """
                struct Unique: ~Copyable {}
                func f(_ ring: MPMCRing<Unique>) async { await ring.push(Unique()) }
                """,
            complaint: "result of call to 'push' is unused",
            flags: ["-warnings-as-errors"]
        ),
        Program(
            claim: "a switch over a push meets every refusal",
            right: """
                struct Unique: ~Copyable {}
                func f(_ ring: MPMCRing<Unique>) -> String {
                    let tried = ring.tryPush(Unique())
                    switch consume tried {
                    case .pushed: return "in"
                    case .full(_): return "no room"
                    case .closed(_): return "not taken"
                    case .cancelled(_): return "not in time"
                    }
                }
                """,
            wrong: """
                struct Unique: ~Copyable {}
                func f(_ ring: MPMCRing<Unique>) -> String {
                    let tried = ring.tryPush(Unique())
                    switch consume tried {
                    case .pushed: return "in"
                    case .full(_): return "no room"
                    }
                }
                """,
            complaint: "switch must be exhaustive"
        ),
        Program(
            claim: "a task does not block its thread in a ring",
            right: "func f(_ ring: MPMCRing<Int>) async throws { _ = try await ring.pop() }",
            wrong: "func f(_ ring: MPMCRing<Int>) async throws { _ = try ring.pop() }",
            // The compiler goes on with the mend: the word to put in. The blocking form is never considered.
            complaint: """
                not marked with 'await'
                func f(_ ring: MPMCRing<Int>) async throws { _ = try ring.pop() }
                                                                 ^~~~~~~~~~~~~~
                                                                     await
                """,
            flags: ["-diagnostic-style=llvm"]
        ),
        Program(
            claim: "the handle of a ring is unsafe, and nothing else of it",
            right: """
                func f() async throws {
                    let shared = try MPMCRing<Int>(capacity: 1)
                    _ = await shared.push(1).isPushed
                    for try await element in shared { print(element) }
                    shared.close()
                    try await SPSCRing<Int>(capacity: 1).split { (producer, consumer) async throws(any Error) -> Void in
                        var producer = producer
                        producer.withSlots(atMost: 1) { $0.append(1) }
                        _ = await producer.push(1).isPushed
                        print(consumer.tryPop(atMost: 3))
                        for try await element in consumer.elements() { print(element) }
                    }
                }
                """,
            wrong: "func f(_ ring: MPMCRing<Int>) { print(ring.unsafeHandle) }",
            complaint: "reference to unsafe property 'unsafeHandle'",
            flags: ["-strict-memory-safety", "-warnings-as-errors"]
        ),
        Program(
            claim: "a lock is not copied",
            right:
                "func f(_ lock: consuming ReadWriteLock<Int>) { let same = lock; same.withWriteLock { $0 += 1 } }",
            wrong: """
                func f(_ lock: consuming ReadWriteLock<Int>) {
                    let second = lock
                    second.withWriteLock { $0 += 1 }
                    lock.withWriteLock { $0 += 1 }
                }
                """,
            complaint: "used after consume"
        ),
        Program(
            claim: "a read closure does not write",
            right: "func f(_ lock: borrowing ReadWriteLock<[Int]>) { lock.withWriteLock { $0.append(1) } }",
            wrong: "func f(_ lock: borrowing ReadWriteLock<[Int]>) { lock.withReadLock { $0.append(1) } }",
            complaint: "cannot use mutating member on immutable value"
        ),
        Program(
            claim: "an upgradable view does not outlive its closure",
            right:
                "func f(_ lock: borrowing ReadWriteLock<Int>) -> Int { lock.withUpgradableLock { view in view.value } }",
            wrong: """
                func f(_ lock: borrowing ReadWriteLock<Int>) -> ReadWriteLock<Int>.UpgradableView {
                    lock.withUpgradableLock { view in view }
                }
                """,
            complaint: "missing reinitialization of inout parameter"
        ),
        Program(
            claim: "what a task's closure takes to another thread is not used beside it",
            right: """
                final class Box { var value = 0 }
                func f(_ mutex: borrowing PriorityInheritingMutex<Int>) async throws {
                    let box = Box()
                    try await mutex.withLock { $0 = box.value }
                }
                """,
            wrong: """
                final class Box { var value = 0 }
                func f(_ mutex: borrowing PriorityInheritingMutex<Int>) async throws {
                    let box = Box()
                    try await mutex.withLock { $0 = box.value }
                    box.value = 1
                }
                """,
            complaint: "risks causing data races"
        ),
        Program(
            claim: "what a closure of the mutex of tasks leaves behind is not used beside it",
            right: """
                final class Box { var value = 0 }
                func f(_ mutex: AsyncMutex<Box>) async throws {
                    let value = try await mutex.withLock { box in box.value }
                    try await mutex.withLock { $0 = Box() }
                    print(value)
                }
                """,
            wrong: """
                final class Box { var value = 0 }
                func f(_ mutex: AsyncMutex<Box>) async throws {
                    let box = Box()
                    try await mutex.withLock { $0 = box }
                    box.value = 1
                }
                """,
            complaint: "'inout sending' parameter"
        ),
        Program(
            claim: "a predicate does not change the value",
            in: "func f(_ lock: SharedReadWriteLock<Int>)",
            right: "lock.lock.withWriteLock(when: { $0 > 0 }) { $0 = 0 }",
            wrong: "lock.lock.withWriteLock(when: { $0 += 1; return true }) { $0 = 0 }",
            complaint: "left side of mutating operator isn't mutable"
        ),
        Program(
            claim: "a predicate, which other threads run, changes nothing of its caller's",
            right:
                "func f(_ array: SafeArray<Int>) { array.withWriteLock(when: { $0.count > 1 }) { $0 = [] } }",
            wrong: """
                func f(_ array: SafeArray<Int>) {
                    var judged = 0
                    array.withWriteLock(when: { judged += 1; return $0.count > 1 }) { $0 = [] }
                }
                """,
            complaint: "in concurrently-executing code"
        ),
        Program(
            claim: "a task without an await learns what blocks: a cache",
            in: "func f(_ cache: SingleFlightCache<Int, Int>)",
            right: "Task { _ = try await cache.value(forKey: 1) { 1 } }",
            wrong: "Task { _ = try cache.value(forKey: 1) { 1 } }",
            complaint: "use `try await value(forKey:orCompute:)`"
        ),
        Program(
            claim: "async code does not wait for a queue by blocking",
            in: "func f(_ queue: DispatchQueue) async throws",
            right: "try await GCD.run(on: queue) {}",
            wrong: "GCD.sync(on: queue) {}",
            complaint: "use `try await GCD.run(on:)`"
        ),
        Program(
            claim: "a shared array is no key by its contents",
            right:
                "func f(_ array: SafeArray<Int>) -> Bool { array.snapshot == [1] && Set([array.snapshot]).count == 1 }",
            wrong: "func f(_ array: SafeArray<Int>) -> Bool { Set([array]).count == 1 }",
            complaint: "conform to 'Hashable'"
        ),
        Program(
            claim: "two shared dictionaries are not equal by their contents",
            right:
                "func f(_ one: SafeDictionary<Int, Int>, _ other: SafeDictionary<Int, Int>) -> Bool { one === other }",
            wrong:
                "func f(_ one: SafeDictionary<Int, Int>, _ other: SafeDictionary<Int, Int>) -> Bool { one == other }",
            complaint: "cannot be applied to two"
        ),
        Program(
            claim: "two shared sets are not equal by their contents",
            right: "func f(_ one: SafeSet<Int>, _ other: SafeSet<Int>) -> Bool { one === other }",
            wrong: "func f(_ one: SafeSet<Int>, _ other: SafeSet<Int>) -> Bool { one == other }",
            complaint: "cannot be applied to two"
        ),
    ]

    /// In the strict mode, which asks for the word `unsafe`.
    @Test func theRawPairOfALockIsUnsafeAndTheRestIsNot() async throws {
        let strict = ["-strict-memory-safety", "-Werror", "StrictMemorySafety"]
        let right = try await Compiler.compile(
            """
            func f(_ lock: borrowing ReadWriteLock<Int>) {
                lock.withWriteLock { $0 += 1 }
                unsafe lock.unsafeView.lockForReading()
            }
            """,
            flags: strict
        )
        #expect(right.succeeded, "\(right.output)")
        let wrong = try await Compiler.compile(
            "func f(_ lock: borrowing ReadWriteLock<Int>) { lock.unsafeView.lockForReading() }",
            flags: strict
        )
        #expect(!wrong.succeeded)
        #expect(wrong.output.contains("uses unsafe constructs"), "\(wrong.output)")
    }

    @Test(.serialized, arguments: programs)
    func theRightTwinCompilesAndTheWrongProgramDoesNot(program: Program) async throws {
        let right = try await Compiler.compile(program.right, flags: program.flags)
        #expect(right.succeeded, "\(right.output)")
        let wrong = try await Compiler.compile(program.wrong, flags: program.flags)
        #expect(!wrong.succeeded, "compiled, and must not")
        #expect(wrong.output.contains(program.complaint), "\(wrong.output)")
    }
}

extension WrongProgramTests.Program {
    /// Two bodies of one function.
    init(
        claim: String,
        in function: String,
        right: String,
        wrong: String,
        complaint: String,
        flags: [String] = []
    ) {
        self.init(
            claim: claim,
            right: "\(function) {\n\(right)\n}",
            wrong: "\(function) {\n\(wrong)\n}",
            complaint: complaint,
            flags: flags
        )
    }
}
