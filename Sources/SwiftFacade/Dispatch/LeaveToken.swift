// SPDX-License-Identifier: Apache-2.0
//
// `enter` and `leave` made one thing. An unbalanced `leave` traps libdispatch without a word and a
// missing one hangs the waiters; a token leaves once, and knows where it was made when it is misused.
//
// Leaving twice is a bug whose harm has not happened yet and cannot be told from a real second job, so
// it aborts. A token dropped without leaving usually is an early return: aborting there would turn one
// forgotten line into a crash, and hanging is worse, so the sentence is printed and the token leaves.

import Dispatch

/// A stay in a `DispatchGroup` that is ended exactly once, by ``leave()``.
///
/// Safe to pass to any thread. A second `leave()` is misuse and aborts with a sentence that names the
/// token and where it was made. A token that is dropped without a `leave()` is reported in the same way
/// and leaves, so that the group balances and nobody waits for ever.
public final class LeaveToken: Sendable {
    /// The name given to ``Dispatch/DispatchGroup/enterToken(_:file:line:)``.
    public let label: String
    /// Where the token was made.
    public let origin: String

    private let group: DispatchGroup
    private let ledger: GroupLedger
    private let entry: UInt64
    private let hasLeft = VisibleMutex(false)

    init(group: DispatchGroup, label: String, origin: String, valueType: ObjectIdentifier? = nil) {
        self.group = group
        self.label = label
        self.origin = origin
        ledger = GroupLedger.of(group)
        entry = ledger.enter(RunningJob(label: label, origin: origin), valueType: valueType)
        group.enter()
    }

    deinit {
        if leaveIfInside() {
            tellMisuse(
                "LeaveToken.deinit",
                displayName,
                "dropped without leave(); it was made at \(origin) and has now left group \(groupName)"
            )
        }
    }

    /// Leaves the group; once.
    ///
    /// Everything done before is visible to the group's waiters.
    public func leave() {
        if !leaveIfInside() {
            misuse(
                "LeaveToken.leave",
                displayName,
                "left twice; it was made at \(origin) and has left group \(groupName) already"
            )
        }
    }

    /// Leaves unless it has; answers whether it did. `before` runs once, while the group still counts us.
    @discardableResult
    func leaveIfInside(before: (GroupLedger, UInt64) -> Void = { _, _ in }) -> Bool {
        let isFirst = hasLeft.withLock { hasLeft in
            defer { hasLeft = true }
            return !hasLeft
        }
        guard isFirst else { return false }
        before(ledger, entry)
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
    /// May be called from any thread, also while others wait. The group must have been created by the
    /// program and stays alive as long as the token.
    ///
    /// - Parameters:
    ///   - label: names the job in reports.
    ///   - file: where the token is made; leave the default.
    ///   - line: where the token is made; leave the default.
    /// - Returns: the token, whose ``LeaveToken/leave()`` must be called once.
    public func enterToken(_ label: String = "", file: StaticString = #fileID, line: UInt = #line)
        -> LeaveToken
    {
        LeaveToken(group: self, label: label, origin: "\(file):\(line)")
    }
}
