// SPDX-License-Identifier: Apache-2.0
//
// What a `DispatchGroup` does not record: the jobs in it, where each entered, and its result. A table holds each
// group's ledger from its first token on; those of groups that are gone are swept out as it grows. Groups are held
// weakly and compared by identity: a new one at an old address gets an empty ledger.
//
// Invariant: a job is in the ledger from before its `enter` until after its `leave`; with a result, until that is
// collected.

import Dispatch
import InterlockSync

/// A job of a group that has not left it yet.
public struct RunningJob: Sendable, CustomStringConvertible {
    /// The name given on entry, or empty.
    public let label: String
    /// The running jobs of the group that is the job, in order of entry; empty for other jobs, and for a group that is
    /// the job of several, where a report names it again.
    public internal(set) var jobs: [RunningJob] = []

    private let file: StaticString
    private let line: UInt

    @usableFromInline
    init(label: String, file: StaticString, line: UInt) {
        (self.label, self.file, self.line) = (label, file, line)
    }

    /// The file and line at which it entered.
    public var origin: String { "\(file):\(line)" }

    /// The label in quotes, and the place; of a group, with its running jobs.
    public var description: String {
        let own = label.isEmpty ? "the job entered at \(origin)" : "\"\(label)\" (\(origin))"
        return jobs.isEmpty ? own : own + ", in which " + jobs.map(\.description).joined(separator: " and ")
    }
}

/// A job, from before its `enter` until after its `leave`; with a result, until that is collected.
// What changes is guarded by the ledger's lock, but for the slot: the one call that lets the job leave writes it
// before.
@usableFromInline
final class GroupEntry: @unchecked Sendable {
    fileprivate let job: RunningJob
    /// The group that is the job.
    fileprivate let child: DispatchGroup?
    /// The type of the job's values; nil where there is nothing to collect.
    fileprivate let valueType: ObjectIdentifier?
    fileprivate var id: UInt64 = 0
    fileprivate var hasLeft = false
    /// A `Result<Value, any Error>`, which does not change once the job has left.
    // Unchecked: one call writes it, and it is read after that; the checks cost a job 260 instructions.
    @exclusivity(unchecked) @usableFromInline var slot = OutputSlot()
    private let destroy: @Sendable (UnsafeMutablePointer<OutputSlot>) -> Void

    /// A job without a result.
    convenience init(_ job: RunningJob, child: DispatchGroup? = nil) {
        self.init(job, child: child, valueType: nil) { _ in }
    }

    /// A job with values of that type. Inlinable: unspecialised, each job looks the types of its result up.
    @inlinable @inline(__always)
    convenience init<Value: Sendable>(_ job: RunningJob, yielding type: Value.Type) {
        self.init(job, child: nil, valueType: ObjectIdentifier(type)) { slot in
            OutputSlot.destroy(Result<Value, any Error>.self, in: slot)
        }
    }

    @usableFromInline
    init(
        _ job: RunningJob,
        child: DispatchGroup?,
        valueType: ObjectIdentifier?,
        destroy: @escaping @Sendable (UnsafeMutablePointer<OutputSlot>) -> Void
    ) {
        (self.job, self.child, self.valueType, self.destroy) = (job, child, valueType, destroy)
    }

    deinit { destroy(&slot) }

    @inlinable @inline(__always)
    func store<Value: Sendable>(_ result: Result<Value, any Error>) { OutputSlot.store(result, in: &slot) }

    /// The result of a job that has one.
    @inlinable @inline(__always)
    func result<Value: Sendable>(_: Value.Type) -> Result<Value, any Error> {
        OutputSlot.load(Result<Value, any Error>.self, from: &slot)
    }

    var label: String { job.label }
    var origin: String { job.origin }
}

@usableFromInline
final class GroupLedger: Sendable {
    private struct Page {
        var lastID: UInt64 = 0
        var entries: [GroupEntry] = []

        func index(of id: UInt64) -> Int? {
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].id < id { low = middle + 1 } else { high = middle }
            }
            return low < entries.count && entries[low].id == id ? low : nil
        }
    }

    /// Entries with values of one type, in order of entry.
    @usableFromInline
    struct Collected {
        @usableFromInline let entries: [GroupEntry]
        /// The places of those that have no result yet.
        @usableFromInline var unfinished: [Int] = []

        @usableFromInline var running: [RunningJob] { unfinished.map { entries[$0].job } }
    }

    private weak let group: DispatchGroup?
    private let page = VisibleMutex(Page())

    private init(of group: DispatchGroup) { self.group = group }

    @usableFromInline
    func enter(_ entry: GroupEntry) {
        page.withLock { page in
            page.lastID += 1
            entry.id = page.lastID
            page.entries.append(entry)
        }
    }

    /// Before the group sees the job leave: the waiter collects the result after that. An entry without a result is
    /// taken out.
    @usableFromInline
    func leave(_ entry: GroupEntry) {
        page.withLock { page in
            entry.hasLeft = true
            if !entry.slot.isStored, let index = page.index(of: entry.id) { page.entries.remove(at: index) }
        }
    }

    var entryCount: Int { page.withLock { $0.entries.count } }

    /// With the jobs of groups that are jobs; of a group that is the job of several, once.
    var running: [RunningJob] {
        var named: Set<ObjectIdentifier> = []
        return running(&named)
    }

    private func running(_ named: inout Set<ObjectIdentifier>) -> [RunningJob] {
        let inside = page.withLock { $0.entries.filter { !$0.hasLeft } }
        return inside.map { entry in
            var job = entry.job
            if let child = entry.child, named.insert(ObjectIdentifier(child)).inserted {
                job.jobs = GroupLedger.of(child).running(&named)
            }
            return job
        }
    }

    /// The groups that are jobs of this one, each with the job.
    var children: [(group: DispatchGroup, job: RunningJob)] {
        page.withLock { page in
            page.entries.compactMap { entry in entry.child.map { ($0, entry.job) } }
        }
    }

    /// The entries with values of that type; removed if all have results.
    @usableFromInline
    func collect(_ valueType: ObjectIdentifier) -> Collected {
        page.withLock { page in
            // The usual case, without a copy.
            if page.entries.allSatisfy({ $0.valueType == valueType && $0.hasLeft }) {
                defer { page.entries = [] }
                return Collected(entries: page.entries)
            }
            let matching = page.entries.filter { $0.valueType == valueType }
            let unfinished = matching.indices.filter { !matching[$0].hasLeft }
            if unfinished.isEmpty { page.entries.removeAll { $0.valueType == valueType } }
            return Collected(entries: matching, unfinished: unfinished)
        }
    }

    /// Takes out the entries with values of that type that have results, in order of entry.
    func takeFinished(_ valueType: ObjectIdentifier) -> [GroupEntry] {
        page.withLock { page in
            let isFinished = { (entry: GroupEntry) in entry.valueType == valueType && entry.hasLeft }
            let finished = page.entries.filter(isFinished)
            page.entries.removeAll(where: isFinished)
            return finished
        }
    }

    // MARK: The table

    private struct Table { var ledgers: [ObjectIdentifier: GroupLedger] = [:], sweepAt = 16 }

    private static let table = VisibleMutex(Table())

    /// The group's ledger, if it has one. Releases nothing.
    static func existing(of group: DispatchGroup) -> GroupLedger? {
        table.withLock { table in
            let found = table.ledgers[ObjectIdentifier(group)]
            return found?.group === group ? found : nil
        }
    }

    @usableFromInline
    static func of(_ group: DispatchGroup) -> GroupLedger {
        // Ledgers of groups that are gone, with uncollected results: not released under the lock, because their ends
        // are the users' and may come back here.
        var swept: [GroupLedger] = []
        var met: [DispatchGroup] = []
        let ledger = table.withLock { table in
            let key = ObjectIdentifier(group)
            let found = table.ledgers[key]
            if let found, found.group === group { return found }
            if let found { swept.append(found) }
            if table.ledgers.count >= table.sweepAt {
                table.ledgers = table.ledgers.filter { _, ledger in
                    if let group = ledger.group {
                        met.append(group)
                        return true
                    }
                    swept.append(ledger)
                    return false
                }
                table.sweepAt = max(16, table.ledgers.count * 2)
            }
            let ledger = GroupLedger(of: group)
            table.ledgers[key] = ledger
            return ledger
        }
        withExtendedLifetime((swept, met)) {}
        return ledger
    }
}
