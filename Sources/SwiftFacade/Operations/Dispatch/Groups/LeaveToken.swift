// SPDX-License-Identifier: Apache-2.0
//
// `enter` and `leave` in one object. In libdispatch an unbalanced `leave` traps without a sentence, and a missing one
// hangs the waiters.
//
// A second `leave` could be that of another job, so it aborts. A token dropped without leaving, usually by an early
// return, is reported and leaves: a hang is worse.

import Dispatch
import InterlockSync

/// A stay in a `DispatchGroup` that is ended exactly once, by ``leave()``.
///
/// May be used from any thread. A second `leave()` is misuse, reported with the token and its place. A token dropped
/// without a `leave()` is reported likewise and leaves; the program goes on.
public final class LeaveToken: Sendable {
    /// The name given to ``Dispatch/DispatchGroup/enterToken(_:file:line:)``.
    public var label: String { entry.label }
    /// The file and line at which the token was made.
    public var origin: String { entry.origin }

    private let group: DispatchGroup
    private let ledger: GroupLedger
    private let entry: GroupEntry
    private let hasLeft = VisibleMutex(false, isPacked: true)

    init(group: DispatchGroup, _ entry: GroupEntry) {
        self.group = group
        self.entry = entry
        ledger = GroupLedger.of(group)
        ledger.enter(entry)
        group.enter()
    }

    deinit {
        if leaveIfInside() {
            let sentence =
                "dropped without leave(); it was made at \(origin) and has now left group \(groupName)"
            tellMisuse("LeaveToken.deinit", displayName, sentence)
        }
    }

    /// Leaves the group, once: a second call is misuse. Everything done before is visible to the group's waiters.
    public func leave() {
        if !leaveIfInside() {
            let sentence = "left twice; it was made at \(origin) and has left group \(groupName) already"
            misuse("LeaveToken.leave", displayName, sentence)
        }
    }

    /// Leaves unless it has; answers whether it did. `before` runs while the group still counts the job.
    @discardableResult
    func leaveIfInside(before: (GroupEntry) -> Void = { _ in }) -> Bool {
        let isFirst = hasLeft.withLock { hasLeft in
            defer { hasLeft = true }
            return !hasLeft
        }
        guard isFirst else { return false }
        before(entry)
        ledger.leave(entry)
        group.leave()
        return true
    }

    private var displayName: String { label.isEmpty ? "without a label" : "\"\(label)\"" }
    private var groupName: String { misuseName(nil, of: group) }
}

extension DispatchGroup {
    /// Enters the group and gives the token that leaves it.
    ///
    /// May be called from any thread, also while others wait. The token keeps the group alive; its
    /// ``LeaveToken/leave()`` must be called once.
    ///
    /// - Parameter label: names the job in reports, as `file` and `line` do; leave their defaults.
    public func enterToken(_ label: String = "", file: StaticString = #fileID, line: UInt = #line)
        -> LeaveToken
    {
        LeaveToken(group: self, GroupEntry(RunningJob(label: label, file: file, line: line)))
    }
}
