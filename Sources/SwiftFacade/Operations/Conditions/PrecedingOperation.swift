// SPDX-License-Identifier: Apache-2.0
//
// A condition that has an operation run before it is asked. The operation that is asked has started and keeps its place
// in its queue; so what precedes it runs in that place (ResumePlace.swift), as what a `flatMap` step makes.
//
// One cycle remains, as there: it waits for the operation, or for one behind it in the same serial queue. It is
// searched for before the wait.

import Foundation
import InterlockPool
import InterlockSync

/// What a condition is asked.
struct ConditionQuestion: Sendable {
    let operation: Operation
    /// No operation is to run for it.
    var isSilent = false
    /// Runs an operation before the answer; gives the error it ended with.
    let run: @Sendable (Operation) async throws -> (any Error)?
}

extension OperationCondition {
    /// This condition, asked when an operation has ended that `make` makes: a log-in before "is logged in".
    ///
    /// ```swift
    /// let loggedIn = OperationCondition.that("logged in") { true }
    ///     .preceded { _ in AsyncOperation(name: "log in") { 1 } }
    /// ```
    ///
    /// The operation runs once each time the condition is asked, in the place that the asked operation keeps in its
    /// queue, whatever the queue's limit; observers of the asked one learn of it by `didProduce`. A cancellation of the
    /// asked operation, or its end, cancels it. Where it could never end, because it waits for the asked operation or
    /// for one behind that in the same serial queue, or was started before, the condition refuses with ``ChildRefused``
    /// as the reason. In wider queues, and around several, such cycles are not seen.
    ///
    /// - Parameters:
    ///   - policy: where the operation fails or is cancelled: with `.fail` the condition refuses, and its error is the
    ///     reason; with `.ignore` the condition is asked. An operation of another class only shows that it was
    ///     cancelled.
    ///   - make: given the operation that is asked. Returns one that is in no queue and was not started, of any class;
    ///     nil where none is needed; what it throws refuses.
    public func preceded(
        onFailure policy: DependencyPolicy = .ignore,
        by make: @escaping @Sendable (Operation) async throws -> Operation?
    ) -> OperationCondition {
        OperationCondition(asked: name) { [ask] question in
            if !question.isSilent, let first = try await make(question.operation) {
                let error = try await question.run(first)
                if let error, policy == .fail { throw error }
            }
            try await ask(question)
        }
    }

    /// This condition without the operations that would precede it, also in the conditions it is made of.
    public var silent: OperationCondition {
        OperationCondition(asked: name) { [ask] question in
            var question = question
            question.isSilent = true
            try await ask(question)
        }
    }
}

extension AsyncOperation {
    /// Runs `first` in this operation's place, for the condition that is being asked.
    final func runPreceding(_ first: Operation, in place: ResumePlace) async throws -> (any Error)? {
        if let reason = refusal(ofPreceding: first, in: place) { throw refused(first, reason) }
        let condition = record.withLock { $0.admission }
        let waits: WaitReason = .dependency(first.nameInExplanations)
        guard record.withLock({ $0.beginWaiting(for: waits) { $0.preceding = first } }) else {
            throw CancellationError()
        }
        // From now on an edge that would close a cycle with it is reported.
        if pathClosed(byAwaiting: first) != nil { throw refused(first, .waitsForGroup) }
        let ended = Promise<(any Error)?>()
        ChildEnd.of(first) { ended.fulfil($0) }
        announceProduced(first)
        place.add(first, for: self)
        let error = await withTaskCancellationHandler {
            await ended.take()
        } onCancel: {
            first.cancel()
        }
        guard record.withLock({ $0.beginWaiting(for: condition) { $0.preceding = nil } }) else {
            throw CancellationError()
        }
        return error
    }

    private func refused(_ first: Operation, _ reason: ChildRefused.Reason) -> ChildRefused {
        ChildRefused(group: bareName, child: first.nameInExplanations, reason: reason)
    }

    private func refusal(ofPreceding first: Operation, in place: ResumePlace) -> ChildRefused.Reason? {
        if first === self { return .waitsForGroup }
        if !ChildEnd.isUnstarted(first) { return .hasStarted }
        var met = DependencyGraph.Walk()
        let queue = place.queue(of: self)
        return GroupCycle.reason(against: [first], in: self, behind: queue, isKnown: { _ in false }, &met)
    }

    /// What its condition waits for.
    final var preceding: Operation? { record.withLock { $0.held.policies?.preceding } }
}
