// SPDX-License-Identifier: Apache-2.0
//
// Conditions: questions asked between the start of an operation and its work. A condition is a value, made of others
// like a Boolean expression. Its answer is to return or to throw; the error is the reason of the refusal.

import Foundation
import InterlockPool
import InterlockSync

/// A question that is asked before the work of an operation begins, and may refuse it.
///
/// ```swift
/// let online = OperationCondition.that("online") { true }
/// let upload = AsyncOperation<Image>(name: "upload") { try await render(url) }
/// upload.addCondition(online.and(.noFailedDependencies))
/// ```
///
/// A value of constants: may be shared by operations and used from any thread.
public struct OperationCondition: Sendable {
    /// Names the condition in errors and in ``WaitReason/condition(_:)``.
    public let name: String
    let ask: @Sendable (ConditionQuestion) async throws -> Void

    /// Makes a condition of a closure.
    ///
    /// - Parameter evaluate: given the operation, in a task of its own, cancelled with the operation; returns to let it
    ///   pass, throws the reason to refuse it. Must not wait for what waits for the operation.
    public init(_ name: String, evaluate: @escaping @Sendable (Operation) async throws -> Void) {
        self.init(asked: name) { try await evaluate($0.operation) }
    }

    init(asked name: String, _ ask: @escaping @Sendable (ConditionQuestion) async throws -> Void) {
        self.name = name
        self.ask = ask
    }

    /// A condition that holds where `holds` returns true; the reason of a refusal is ``ConditionUnmet``, or what
    /// `holds` throws.
    public static func that(
        _ name: String,
        _ holds: @escaping @Sendable () async throws -> Bool
    ) -> OperationCondition {
        OperationCondition(name) { _ in
            if try await !holds() { throw ConditionUnmet(condition: name) }
        }
    }

    // MARK: Made of others

    /// Holds where this one refuses, for whatever reason but a `CancellationError`, which passes on.
    public var not: OperationCondition {
        let name = "not \(name)"
        return OperationCondition(asked: name) { [ask] question in
            do {
                try await ask(question)
            } catch {
                if error is CancellationError { throw error } else { return }
            }
            throw ConditionUnmet(condition: name)
        }
    }

    /// Holds where both do. This one is asked first; where it refuses, the other is not asked.
    public func and(_ other: OperationCondition) -> OperationCondition { .all([self, other]) }

    /// Holds where one of both does. This one is asked first; where it holds, the other is not asked. Where both
    /// refuse, the reason is a ``ConditionUnmet`` with both reasons.
    public func or(_ other: OperationCondition) -> OperationCondition {
        let name = "(\(name) or \(other.name))"
        return OperationCondition(asked: name) { [ask] question in
            var reasons: [any Error] = []
            for ask in [ask, other.ask] {
                do {
                    return try await ask(question)
                } catch {
                    if error is CancellationError { throw error }
                    reasons.append(error)
                }
            }
            throw ConditionUnmet(condition: name, reasons: reasons)
        }
    }

    /// Holds where all do. They are asked in order, up to the first that refuses, whose reason is the reason.
    public static func all(_ conditions: [OperationCondition]) -> OperationCondition {
        let name = "(" + conditions.map(\.name).joined(separator: " and ") + ")"
        return OperationCondition(asked: name) { question in
            for condition in conditions { try await condition.ask(question) }
        }
    }

    // MARK: Built in

    /// Refuses where a dependency ended with an error, a cancellation included; the reason is the error of the first in
    /// order. An operation of another class only shows that it was cancelled.
    public static let noFailedDependencies = OperationCondition("no failed dependencies") { operation in
        for dependency in operation.dependencies {
            if let ended = dependency as? any GatedOperation {
                if let error = ended.failure { throw error }
            } else if dependency.isCancelled {
                throw OperationCancelled(operation: dependency.nameInExplanations)
            }
        }
    }

    /// Refuses where a dependency was cancelled, whatever its result; the reason is ``OperationCancelled`` with the
    /// name of the first in order.
    public static let noCancelledDependencies = OperationCondition("no cancelled dependencies") { operation in
        for dependency in operation.dependencies where dependency.isCancelled {
            throw OperationCancelled(operation: dependency.nameInExplanations)
        }
    }
}

extension AsyncOperation {
    /// Asks `condition` between the start of the operation and its work.
    ///
    /// Conditions are asked one after the other, in the order they were added, when the dependencies have finished and
    /// a delay has passed. The first that refuses ends the operation with ``ConditionRefused``; the work never runs.
    /// Meanwhile the operation keeps its place in its queue, but no thread; a cancellation ends it at once.
    ///
    /// To be called before the start; later is misuse. May be called from any thread.
    @discardableResult
    public final func addCondition(_ condition: OperationCondition) -> Self {
        changePolicies("addCondition") { $0.conditions.append(condition) }
        return self
    }
}
