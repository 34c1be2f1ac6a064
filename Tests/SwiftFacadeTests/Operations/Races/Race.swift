// SPDX-License-Identifier: Apache-2.0
//
// Races in batches: each racer has a thread, and for each subject they start together. One thread makes the subjects of
// a batch before the race and judges them after it:
//
//   maker      makes 100                                              judges 100
//   racer 0              | meeting, step | meeting, step | …
//   racer 1              | meeting, step | meeting, step | …

import Foundation
import Synchronization
import Testing

import Interlock

enum Race {
    static let rounds = repetitions(10_000, underThreadSanitizer: 1_000)
    private static let batch = 100

    /// Plays the rounds, and expects that `judge` complains of none; stops at the first batch with a complaint.
    ///
    /// - Parameters:
    ///   - make: makes the subject of a round.
    ///   - racers: what each thread does to it.
    ///   - judge: what is wrong with it after the race; may wait for its end.
    /// - Returns: Whether there was no complaint. Otherwise something may be left in a queue for ever.
    @discardableResult
    static func run<Subject: Sendable>(
        _: Subject.Type,
        make: @escaping @Sendable (_ round: Int) -> Subject,
        racers: (@Sendable (Subject) -> Void)...,
        judge: @escaping @Sendable (Subject) -> [String],
        _ location: SourceLocation = #_sourceLocation
    ) async -> Bool {
        await run(Subject.self, make: make, racers: racers, judge: judge, location)
    }

    @discardableResult
    static func run<Subject: Sendable>(
        _: Subject.Type,
        make: @escaping @Sendable (_ round: Int) -> Subject,
        racers: [@Sendable (Subject) -> Void],
        judge: @escaping @Sendable (Subject) -> [String],
        _ location: SourceLocation = #_sourceLocation
    ) async -> Bool {
        let complaints = await blocking { play(make, racers, judge) }
        #expect(complaints.isEmpty, "\(complaints.prefix(5))", sourceLocation: location)
        return complaints.isEmpty
    }

    private static func play<Subject: Sendable>(
        _ make: (_ round: Int) -> Subject,
        _ racers: [@Sendable (Subject) -> Void],
        _ judge: (Subject) -> [String]
    ) -> [String] {
        var complaints: [String] = []
        for first in stride(from: 0, to: rounds, by: batch) where complaints.isEmpty {
            let subjects = (first..<min(first + batch, rounds)).map(make)
            let start = Meeting()
            onThreads(racers.count) { racer in
                for (number, subject) in subjects.enumerated() {
                    start.wait(for: (number + 1) * racers.count)
                    // The racers take turns at being late.
                    for _ in 0..<(first + number + racer * 7) % 23 * 4 { spin() }
                    racers[racer](subject)
                }
            }
            // The first alone: a wait for what never ends takes its limit.
            for (number, subject) in subjects.enumerated() where complaints.isEmpty {
                complaints += judge(subject).map { "round \(first + number): \($0)" }
            }
        }
        return complaints
    }

    @inline(never) private static func spin() {}
}

/// An operation that other threads finish, cancel and start, and everything that may happen once.
final class Raced: Sendable {
    let operation: AsyncOperation<Int>
    /// In a queue, below the operation.
    let dependent: AsyncOperation<Int>
    let (ran, hooks, blocks, dependentRan) = (Counter(), Counter(), Counter(), Counter())
    /// The calls that learnt that they ended the operation.
    let accepted = Counter()
    private let ended = Handshake()
    private let late = VisibleBox<AsyncOperation<Int>>()

    /// - Parameter add: adds the dependent to a queue.
    init(_ operation: AsyncOperation<Int>, add: (Operation) -> Void) {
        self.operation = operation
        operation.name = "raced"
        let counter = dependentRan
        dependent = operation.then(name: "below") { value in
            counter.increment()
            return value
        }
        let (hooks, blocks, ended) = (hooks, blocks, ended)
        operation.onFinish { _ in
            hooks.increment()
            ended.give()
        }
        operation.completionBlock = {
            blocks.increment()
            ended.give()
        }
        add(dependent)
    }

    /// One more dependent, of a racer.
    func addLate(_ add: (Operation) -> Void) {
        let below = operation.then { $0 }
        late.value.withLock { $0 = below }
        add(below)
    }

    /// Waits for the end of the operation and of its dependents; what is wrong with it.
    func complaints(mayBe allowed: (Result<Int, any Error>) -> Bool) -> [String] {
        // The hook and the completion block.
        ended.take(2)
        guard let result = dependent.wait(timeout: .seconds(Handshake.limit)), let own = operation.result
        else {
            return ["the dependent is not released: \(dependent.state), below \(operation.state)"]
        }
        var wrong: [String] = []
        if !operation.isFinished || operation.isExecuting {
            wrong.append("it is \(operation.state) after its end")
        }
        if hooks.value != 1 { wrong.append("\(hooks.value) hooks") }
        if blocks.value != 1 { wrong.append("\(blocks.value) completion blocks") }
        if accepted.value > 1 { wrong.append("\(accepted.value) calls ended it") }
        if !allowed(own) { wrong.append("its result is \(own)") }
        switch (own, result) {
        case (.success(let value), .success(let below)):
            if value != below || dependentRan.value != 1 { wrong.append("\(below) below \(value)") }
        case (.failure(let error), .failure(let below)):
            if "\(error)" != "\(below)" || dependentRan.value != 0 { wrong.append("\(below) below \(error)") }
        default: wrong.append("\(result) below \(own)")
        }
        if let late = late.value.withLock({ $0 }) {
            let answer = late.wait(timeout: .seconds(Handshake.limit)).map { "\($0)" } ?? "nothing"
            if answer != "\(own)" { wrong.append("\(answer) below \(own), added late") }
        }
        return wrong
    }
}

extension Result where Success == Int, Failure == any Error {
    func isValue(_ value: Int) -> Bool { if case .success(value) = self { true } else { false } }
    var isCancelled: Bool {
        if case .failure(let error) = self { error is OperationCancelled } else { false }
    }
}
