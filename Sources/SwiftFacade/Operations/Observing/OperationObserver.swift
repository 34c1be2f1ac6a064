// SPDX-License-Identifier: Apache-2.0
//
// What an observer learns of an operation, whatever the type of its result.

import Foundation

/// Closures that follow one or many operations: for logs, measurements and tests.
///
/// ```swift
/// let log = OperationObserver(
///     willStart: { print("begins", $0.name ?? "?") },
///     didFinish: { operation, error in print("ended", operation.name ?? "?", error ?? "well") }
/// )
/// page.addObserver(log)
/// ```
///
/// Each closure runs once for an operation, `didProduce` once for each operation produced, in the order of the members
/// below; `didCancel`, and `didProduce` of what a condition has run first, may come at any place before `didFinish`,
/// which is the last. The observers of one operation run one at a time, in the order they were added, on the thread
/// that makes the change; what changes meanwhile is delivered by that thread, next. They run outside all locks, must
/// not block, and are freed when the operation has finished.
public struct OperationObserver: Sendable {
    /// Called with an operation.
    public typealias Handler = @Sendable (Operation) -> Void

    /// It is being added to a queue: by `enqueue`, `AsyncOperation.enqueued(on:)`, a group, a scope or a queue of
    /// this module. Foundation's `addOperation` does not tell.
    public var didEnqueue: Handler?
    /// It was started, and will run unless it is cancelled or refused.
    public var willStart: Handler?
    /// Its work begins. Not called for one that ends without having run.
    public var didStart: Handler?
    /// It has made another operation: the second one.
    public var didProduce: (@Sendable (Operation, Operation) -> Void)?
    /// It was asked to stop before it finished.
    public var didCancel: Handler?
    /// It has its result, and dependents were released. The error is nil where it succeeded.
    public var didFinish: (@Sendable (Operation, (any Error)?) -> Void)?

    /// Makes an observer of these closures.
    public init(
        didEnqueue: Handler? = nil,
        willStart: Handler? = nil,
        didStart: Handler? = nil,
        didProduce: (@Sendable (Operation, Operation) -> Void)? = nil,
        didCancel: Handler? = nil,
        didFinish: (@Sendable (Operation, (any Error)?) -> Void)? = nil
    ) {
        self.didEnqueue = didEnqueue
        self.willStart = willStart
        self.didStart = didStart
        self.didProduce = didProduce
        self.didCancel = didCancel
        self.didFinish = didFinish
    }

    func receive(_ event: Observation.Event, of operation: Operation) {
        switch event {
        case .enqueued: didEnqueue?(operation)
        case .starting: willStart?(operation)
        case .started: didStart?(operation)
        case .produced(let other): didProduce?(operation, other)
        case .cancelled: didCancel?(operation)
        case .finished(let error): didFinish?(operation, error)
        case .ready, .executing: break
        }
    }
}
