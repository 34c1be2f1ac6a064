// SPDX-License-Identifier: Apache-2.0
//
// Groups in groups: a group is a job of another one until it is empty. A cycle could never become empty; it is
// reported when its last link is made. One lock makes check and link one step.

import Dispatch
import InterlockSync

extension DispatchGroup {
    /// Makes `child` a job of this group, which is not empty before the child is.
    ///
    /// May be called from any thread; does not wait. A child that is empty is no job. The child leaves when it is empty
    /// for the first time: jobs that join it later are its own. Its results stay its own too; reports name its running
    /// jobs. It is kept alive until it leaves. A cycle of groups, which would never be empty, is misuse.
    ///
    /// - Parameter label: names the job in reports, as `file` and `line` do; leave their defaults.
    /// - Complexity: O(*n*) in the jobs of the child and of the groups in it.
    public func include(
        _ child: DispatchGroup,
        _ label: String = "",
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        let job = RunningJob(label: label, file: file, line: line)
        // A new ledger sweeps old ones out, whose results may come back here: not under the lock.
        _ = GroupLedger.of(self)
        let token: LeaveToken? = GroupLedger.including.withLock { _ in
            if let path = GroupLedger.path(from: child, to: self) { reportCycle(of: job, child, path) }
            if child.wait(timeout: .now()) == .success { return nil }
            return LeaveToken(group: self, GroupEntry(job, child: child))
        }
        guard let token else { return }
        child.notify(queue: GroupLedger.notifications) { token.leave() }
    }

    private func reportCycle(of job: RunningJob, _ child: DispatchGroup, _ path: [RunningJob]) -> Never {
        let through = path.map { " → \($0)" }.joined()
        misuse(
            "DispatchGroup.include",
            job.label.isEmpty ? misuseName(nil, of: child) : "\"\(job.label)\"",
            child === self
                ? "a group would wait for itself, and never be empty"
                : "the group includes this one already (\(job)\(through)): each would wait for the other for ever"
        )
    }
}

extension GroupLedger {
    /// Makes the check for cycles and the link one step.
    fileprivate static let including = VisibleMutex(())

    /// A queue of the module's own has a thread when the workers of the global queues are all blocked.
    fileprivate static let notifications = DispatchQueue(label: "interlock.groups")

    /// The jobs by which `from` waits for `to`, outermost first; nil if it does not.
    fileprivate static func path(from: DispatchGroup, to: DispatchGroup) -> [RunningJob]? {
        var seen: Set<ObjectIdentifier> = []
        func search(_ group: DispatchGroup) -> [RunningJob]? {
            if group === to { return [] }
            guard seen.insert(ObjectIdentifier(group)).inserted else { return nil }
            for (child, job) in GroupLedger.existing(of: group)?.children ?? [] {
                if let rest = search(child) { return [job] + rest }
            }
            return nil
        }
        return search(from)
    }
}
