// SPDX-License-Identifier: Apache-2.0
//
// What a light job may wait for: another one, or an operation.

import InterlockSync

/// What a light job takes the output of: a ``Job`` or an ``AsyncOperation``, in whatever queue.
public protocol JobUpstream<Output>: Sendable {
    /// What it gives.
    associatedtype Output: Sendable

    /// Makes `edge` follow the end; false where it has come.
    func _add(_ edge: JobEdge) -> Bool

    /// The output of what has ended.
    func _settledOutput() throws -> Output
}

/// The end of an upstream and the beginning of a job. For ``JobUpstream``.
public struct JobEdge: Sendable {
    package let node: JobNode
    package let isFirst: Bool
}

extension Job: JobUpstream {
    /// For ``JobUpstream``.
    public func _add(_ edge: JobEdge) -> Bool { node.add(edge.node, isFirst: edge.isFirst) }

    /// For ``JobUpstream``.
    public func _settledOutput() throws -> Output { try node.settledOutput() }
}
