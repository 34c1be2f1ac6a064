// SPDX-License-Identifier: Apache-2.0
//
// Whether the children of a group may begin. A suspended group holds them in two places:
//
// - in a queue of the group's own, which is suspended;
// - where the children run in a queue of others, in `held`: what the group has not yet given to that queue, and what
//   that queue has started (AsyncOperation+Admission.swift).
//
// A suspension reaches the groups within, from the outside inward: an inner group is suspended by its own call or
// by the group around it. A group that is cancelled, fails or ends holds nothing any more: its children have been
// cancelled and have to end.
//
// One change of a tree at a time in the process: so two changes reach every group within in the same order, and the way
// down is a loop. Lock order: that one, a tree's, then queues, records, the gate's. What was held runs outside all.

import InterlockSync

final class GroupSuspension: Sendable {
    typealias Held = PendingWork<@Sendable () -> Void>

    private struct Tree {
        /// The suspended groups by name: this one, one around it.
        var own: String?
        var inherited: String?
        var isOver = false
        /// The queue of the group's own, once it has begun.
        var queue: (any GroupQueue)?
        var isQueueHeld = false
        var inner: [Inner] = []
        /// The number of inner groups at which those that are gone are removed.
        var sweepLimit = 16

        var name: String? { isOver ? nil : own ?? inherited }
    }

    private struct Inner { weak var suspension: GroupSuspension? }

    private struct Gate { var suspendedBy: String?, held: [Held] = [] }

    /// What is to happen outside the locks.
    private struct Release {
        var held: [Held] = []
        var kept: [GroupSuspension] = []
        /// Groups that are still to learn by what the one around them is suspended.
        var untold: [(GroupSuspension, by: String?)] = []

        func run() { for work in held { work.claim()?() } }
    }

    private static let changing = VisibleMutex(())
    private let tree = VisibleMutex(Tree())
    /// Taken last, also under the lock of a child's record.
    private let gate = VisibleMutex(Gate())

    /// The group that was suspended, by name: this one or one around it. Nil where children may begin.
    var suspendedBy: String? { gate.withLock { $0.suspendedBy } }

    // MARK: Changing

    func suspend(_ name: String) { change { $0.own = name } }

    func resume() { change { $0.own = nil } }

    /// The children have been cancelled: nothing is held from now on.
    func end() { change { $0.isOver = true } }

    /// The group begins; `queue` is its own.
    func begin(_ queue: any GroupQueue) { change { $0.queue = queue } }

    /// An inner group was added.
    func adopt(_ inner: GroupSuspension) {
        walk { tree, release in
            if tree.inner.count >= tree.sweepLimit {
                tree.inner.removeAll { $0.suspension == nil }
                tree.sweepLimit = max(16, 2 * tree.inner.count)
            }
            tree.inner.append(Inner(suspension: inner))
            release.untold.append((inner, tree.name))
        }
    }

    private func change(_ change: (inout Tree) -> Void) {
        walk { tree, release in
            change(&tree)
            apply(&tree, &release)
        }
    }

    /// Begins with this tree, and tells what is within.
    private func walk(_ begin: (inout Tree, inout Release) -> Void) {
        var release = Release()
        Self.changing.withLock { _ in
            tree.withLock { begin(&$0, &release) }
            while let (inner, name) = release.untold.popLast() { inner.inherit(name, &release) }
        }
        release.run()
    }

    private func apply(_ tree: inout Tree, _ release: inout Release) {
        let name = tree.name
        release.held += gate.withLock { gate in
            gate.suspendedBy = name
            if name != nil { return [] }
            defer { gate.held = [] }
            return gate.held
        }
        if let queue = tree.queue, tree.isQueueHeld != (name != nil) {
            tree.isQueueHeld = name != nil
            queue.isSuspended = name != nil
        }
        let inner = tree.inner.compactMap(\.suspension)
        release.kept += inner
        // Taken from the end: the first group learns of it first.
        release.untold += inner.reversed().map { ($0, name) }
    }

    private func inherit(_ name: String?, _ release: inout Release) {
        tree.withLock { tree in
            if tree.inherited == name { return }
            tree.inherited = name
            apply(&tree, &release)
        }
    }

    // MARK: Holding

    /// Keeps `work` for the resumption; false where nothing is suspended, and the caller goes on.
    func hold(_ work: Held) -> Bool {
        gate.withLock { gate in
            if gate.suspendedBy == nil { return false }
            gate.held.append(work)
            return true
        }
    }

    /// Runs `body` now, or when the group has been resumed.
    func pass(_ body: @escaping @Sendable () -> Void) {
        // Suspended anew before it runs, it is held anew.
        if !hold(Held { [self] in pass(body) }) { body() }
    }
}
