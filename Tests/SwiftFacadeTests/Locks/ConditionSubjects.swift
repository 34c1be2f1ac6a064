// SPDX-License-Identifier: Apache-2.0
//
// Every type whose `withLock(when:)` forms make one promise, as a number under a lock.

import Foundation
import Synchronization
import Testing

import Interlock

/// A number that is waited for.
struct ConditionSubject: Sendable {
    typealias Predicate = @Sendable (Int) -> Bool
    typealias Body = @Sendable (inout Int) throws -> Void

    let name: String
    /// Changes the number, without a condition.
    let change: @Sendable (@escaping @Sendable (inout Int) -> Void) async -> Void
    /// In a thread: whether the predicate held in time. `nil`: there is no such form.
    let block: (@Sendable (@escaping Predicate, ContinuousClock.Instant?, @escaping Body) throws -> Bool)?
    /// In a task.
    let suspend:
        @Sendable (@escaping Predicate, ContinuousClock.Instant?, @escaping Body) async throws -> Bool
    /// Whether the waiters are served one at a time.
    var isExclusive = true

    /// The waiters of both kinds: runs a thread, or a task, and returns a task for its answer.
    func wait(
        inThread: Bool,
        until deadline: ContinuousClock.Instant? = nil,
        for predicate: @escaping Predicate,
        _ body: @escaping Body
    ) -> Task<Bool, any Error> {
        guard inThread, let block else {
            return Task { try await suspend(predicate, deadline, body) }
        }
        return Task {
            try await withCheckedThrowingContinuation { continuation in
                _ = TestThread { continuation.resume(with: Result { try block(predicate, deadline, body) }) }
            }
        }
    }

    /// As above, seen waiting: its predicate was false, and the lock has been given up since.
    func waiter(
        inThread: Bool,
        for predicate: @escaping Predicate,
        _ body: @escaping Body
    ) async -> Task<Bool, any Error> {
        let judged = Pointer(Atomic<Int>(0))
        let task = wait(
            inThread: inThread,
            for: { number in
                let holds = predicate(number)
                judged.value.add(1, ordering: .acquiringAndReleasing)
                return holds
            },
            body
        )
        #expect(await eventuallySuspending { judged.value.load(ordering: .acquiring) > 0 })
        // Once more: a task judges an AsyncMutex before it joins the queue, and as it does.
        repeat { await change { _ in } } while judged.value.load(ordering: .acquiring) < 2
        await change { _ in }
        return task
    }

    /// A task that has begun to wait, on an executor.
    func waiter(
        on executor: any TaskExecutor,
        for predicate: @escaping Predicate,
        _ body: @escaping Body
    ) async -> Task<Bool, any Error> {
        let isJudged = Pointer(Atomic<Bool>(false))
        let task = Task(executorPreference: executor) {
            try await suspend(
                {
                    isJudged.value.store(true, ordering: .releasing)
                    return predicate($0)
                },
                nil,
                body
            )
        }
        #expect(await eventuallySuspending { isJudged.value.load(ordering: .acquiring) })
        await change { _ in }
        return task
    }

    /// How one is made: each test case has its own.
    enum Kind: CaseIterable {
        case writing, reading, mutex, asyncMutex, array, dictionary, set

        static let exclusive = allCases.filter { $0 != .reading }
        static let ofThreads = allCases.filter { $0 != .asyncMutex }

        func make() -> ConditionSubject {
            switch self {
            case .writing: .writing
            case .reading: .reading
            case .mutex: .mutex
            case .asyncMutex: .asyncMutex
            case .array: .array
            case .dictionary: .dictionary
            case .set: .set
            }
        }
    }
}

/// A noncopyable value with several owners.
final class Pointer<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
}

extension ConditionSubject {
    private typealias Wait = @Sendable (@escaping Predicate, @escaping Body) throws -> Void
    private typealias Suspension = @Sendable (@escaping Predicate, @escaping Body) async throws -> Void
    /// `nil`: the limit has passed.
    private typealias LimitedWait =
        @Sendable (@escaping Predicate, ContinuousClock.Instant, @escaping Body) throws -> Void?
    private typealias LimitedSuspension =
        @Sendable (@escaping Predicate, ContinuousClock.Instant, @escaping Body) async throws -> Void?

    /// Of a type with all forms.
    private init(
        _ name: String,
        change: @escaping @Sendable (@escaping @Sendable (inout Int) -> Void) async -> Void,
        block: @escaping Wait,
        blockUntil: @escaping LimitedWait,
        suspend: @escaping Suspension,
        suspendUntil: @escaping LimitedSuspension,
        isExclusive: Bool = true
    ) {
        self.init(
            name: name,
            change: change,
            block: { predicate, deadline, body in
                if let deadline { return try blockUntil(predicate, deadline, body) != nil }
                try block(predicate, body)
                return true
            },
            suspend: { predicate, deadline, body in
                if let deadline { return try await suspendUntil(predicate, deadline, body) != nil }
                try await suspend(predicate, body)
                return true
            },
            isExclusive: isExclusive
        )
    }

    static var writing: ConditionSubject {
        let shared = SharedReadWriteLock(0)
        return ConditionSubject(
            "ReadWriteLock, writing",
            change: { body in shared.withWriteLock { body(&$0) } },
            block: { holds, body in try shared.lock.withWriteLock(when: { holds($0) }) { try body(&$0) } },
            blockUntil: { holds, limit, body in
                try shared.lock.withWriteLock(when: { holds($0) }, until: limit) { try body(&$0) }
            },
            suspend: { holds, body in
                try await shared.lock.withWriteLock(when: { holds($0) }) { try body(&$0) }
            },
            suspendUntil: { holds, limit, body in
                try await shared.lock.withWriteLock(when: { holds($0) }, until: limit) { try body(&$0) }
            }
        )
    }

    /// Its bodies change a copy.
    static var reading: ConditionSubject {
        let shared = SharedReadWriteLock(0)
        @Sendable func onCopy(_ number: Int, _ body: Body) throws {
            var copy = number
            try body(&copy)
        }
        return ConditionSubject(
            "ReadWriteLock, reading",
            change: { body in shared.withWriteLock { body(&$0) } },
            block: { holds, body in
                try shared.lock.withReadLock(when: { holds($0) }) { try onCopy($0, body) }
            },
            blockUntil: { holds, limit, body in
                try shared.lock.withReadLock(when: { holds($0) }, until: limit) { try onCopy($0, body) }
            },
            suspend: { holds, body in
                try await shared.lock.withReadLock(when: { holds($0) }) { try onCopy($0, body) }
            },
            suspendUntil: { holds, limit, body in
                try await shared.lock.withReadLock(when: { holds($0) }, until: limit) { try onCopy($0, body) }
            },
            isExclusive: false
        )
    }

    static var mutex: ConditionSubject {
        let shared = Pointer(PriorityInheritingMutex(0))
        return ConditionSubject(
            "PriorityInheritingMutex",
            change: { body in try! await Task { try await shared.value.withLock { body(&$0) } }.value },
            block: { holds, body in try shared.value.withLock(when: { holds($0) }) { try body(&$0) } },
            blockUntil: { holds, limit, body in
                try shared.value.withLock(when: { holds($0) }, until: limit) { try body(&$0) }
            },
            suspend: { holds, body in
                try await shared.value.withLock(when: { holds($0) }) { try body(&$0) }
            },
            suspendUntil: { holds, limit, body in
                try await shared.value.withLock(when: { holds($0) }, until: limit) { try body(&$0) }
            }
        )
    }

    static var asyncMutex: ConditionSubject {
        let mutex = AsyncMutex(0)
        return ConditionSubject(
            name: "AsyncMutex",
            change: { body in try! await Task { try await mutex.withLock { body(&$0) } }.value },
            block: nil,
            suspend: { predicate, deadline, body in
                guard let deadline else {
                    try await mutex.withLock(when: { predicate($0) }) { try body(&$0) }
                    return true
                }
                let answer: Void? =
                    try await mutex.withLock(when: { predicate($0) }, until: deadline) { try body(&$0) }
                return answer != nil
            }
        )
    }

    static var array: ConditionSubject {
        let array = SafeArray([0])
        return ConditionSubject(
            "SafeArray",
            change: { body in array.update(at: 0) { body(&$0) } },
            block: { holds, body in try array.withWriteLock(when: { holds($0[0]) }) { try body(&$0[0]) } },
            blockUntil: { holds, limit, body in
                try array.withWriteLock(when: { holds($0[0]) }, until: limit) { try body(&$0[0]) }
            },
            suspend: { holds, body in
                try await array.withWriteLock(when: { holds($0[0]) }) { try body(&$0[0]) }
            },
            suspendUntil: { holds, limit, body in
                try await array.withWriteLock(when: { holds($0[0]) }, until: limit) { try body(&$0[0]) }
            }
        )
    }

    static var dictionary: ConditionSubject {
        let dictionary = SafeDictionary(["n": 0])
        return ConditionSubject(
            "SafeDictionary",
            change: { body in dictionary.update(forKey: "n") { body(&$0) } },
            block: { holds, body in
                try dictionary.withWriteLock(when: { holds($0["n"]!) }) { try body(&$0["n"]!) }
            },
            blockUntil: { holds, limit, body in
                try dictionary.withWriteLock(when: { holds($0["n"]!) }, until: limit) { try body(&$0["n"]!) }
            },
            suspend: { holds, body in
                try await dictionary.withWriteLock(when: { holds($0["n"]!) }) { try body(&$0["n"]!) }
            },
            suspendUntil: { holds, limit, body in
                try await dictionary.withWriteLock(when: { holds($0["n"]!) }, until: limit) {
                    try body(&$0["n"]!)
                }
            }
        )
    }

    /// The number is the one member.
    static var set: ConditionSubject {
        let set = SafeSet([0])
        @Sendable func replace(_ members: inout Set<Int>, _ body: Body) throws {
            var number = members.first!
            defer { members = [number] }
            try body(&number)
        }
        return ConditionSubject(
            "SafeSet",
            change: { body in set.withWriteLock { try! replace(&$0, body) } },
            block: { holds, body in
                try set.withWriteLock(when: { holds($0.first!) }) { try replace(&$0, body) }
            },
            blockUntil: { holds, limit, body in
                try set.withWriteLock(when: { holds($0.first!) }, until: limit) { try replace(&$0, body) }
            },
            suspend: { holds, body in
                try await set.withWriteLock(when: { holds($0.first!) }) { try replace(&$0, body) }
            },
            suspendUntil: { holds, limit, body in
                try await set.withWriteLock(when: { holds($0.first!) }, until: limit) {
                    try replace(&$0, body)
                }
            }
        )
    }
}
