// SPDX-License-Identifier: Apache-2.0
//
// What a `DispatchGroup` does not record: the jobs in it, where each entered, and its result. A table holds each
// group's ledger from its first token on; those of groups that are gone are swept out as it grows. Groups are held
// weakly and compared by identity: a new one at an old address gets an empty ledger.
//
// Invariant: a job is in the ledger from before its `enter` until after its `leave`; with a result, until that is
// collected.

import Dispatch

/// A job of a group that has not left it yet.
public struct RunningJob: Sendable, CustomStringConvertible {
    /// The name given on entry, or empty.
    public let label: String
    /// The running jobs of the group that is the job, in order of entry; empty for other jobs.
    public internal(set) var jobs: [RunningJob] = []

    private let file: StaticString
    private let line: UInt

    @usableFromInline
    init(label: String, file: StaticString, line: UInt) {
        (self.label, self.file, self.line) = (label, file, line)
    }

    /// Where it entered: file and line.
    public var origin: String { "\(file):\(line)" }

    /// The label in quotes, and the place; of a group, with its running jobs.
    public var description: String {
        let own = label.isEmpty ? "the job entered at \(origin)" : "\"\(label)\" (\(origin))"
        return jobs.isEmpty ? own : own + ", in which " + jobs.map(\.description).joined(separator: " and ")
    }
}

@usableFromInline
final class GroupLedger: Sendable {
    @usableFromInline
    struct Entry {
        let id: UInt64
        @usableFromInline let job: RunningJob
        /// The type of the job's values; nil where there is nothing to collect.
        let valueType: ObjectIdentifier?
        /// The group that is the job.
        let child: DispatchGroup?
        var hasLeft = false
        /// A `Result<Value, any Error>` of that type, before the job leaves.
        @usableFromInline var result: (any Sendable)?
    }

    private struct Page {
        var lastID: UInt64 = 0
        var entries: [Entry] = []

        func index(of id: UInt64) -> Int? {
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].id < id { low = middle + 1 } else { high = middle }
            }
            return low < entries.count && entries[low].id == id ? low : nil
        }
    }

    private let page = VisibleMutex(Page())

    @usableFromInline
    func enter(_ job: RunningJob, valueType: ObjectIdentifier?, child: DispatchGroup? = nil) -> UInt64 {
        page.withLock { page in
            page.lastID += 1
            page.entries.append(Entry(id: page.lastID, job: job, valueType: valueType, child: child))
            return page.lastID
        }
    }

    /// Before the group sees the job leave: the waiter collects the result after that.
    func store(_ result: any Sendable, for id: UInt64) {
        page.withLock { page in
            guard let index = page.index(of: id) else { return }
            page.entries[index].result = result
        }
    }

    /// ``store(_:for:)`` and ``leave(_:)`` in one.
    @usableFromInline
    func leave(_ id: UInt64, with result: any Sendable) {
        page.withLock { page in
            guard let index = page.index(of: id) else { return }
            page.entries[index].result = result
            page.entries[index].hasLeft = true
        }
    }

    func leave(_ id: UInt64) {
        page.withLock { page in
            guard let index = page.index(of: id) else { return }
            if page.entries[index].result == nil {
                page.entries.remove(at: index)
            } else {
                page.entries[index].hasLeft = true
            }
        }
    }

    var entryCount: Int { page.withLock { $0.entries.count } }

    var running: [RunningJob] {
        let inside = page.withLock { $0.entries.filter { !$0.hasLeft } }
        return inside.map { entry in
            var job = entry.job
            if let child = entry.child { job.jobs = GroupLedger.of(child).running }
            return job
        }
    }

    /// The groups that are jobs of this one, each with the job.
    var children: [(group: DispatchGroup, job: RunningJob)] {
        page.withLock { page in
            page.entries.compactMap { entry in entry.child.map { ($0, entry.job) } }
        }
    }

    /// The entries with values of that type, in order of entry; removed if all have results.
    @usableFromInline
    func collect(_ valueType: ObjectIdentifier) -> [Entry] {
        page.withLock { page in
            // The usual case, without a copy.
            if page.entries.allSatisfy({ $0.valueType == valueType && $0.result != nil }) {
                defer { page.entries = [] }
                return page.entries
            }
            let matching = page.entries.filter { $0.valueType == valueType }
            if matching.allSatisfy({ $0.result != nil }) {
                page.entries.removeAll { $0.valueType == valueType }
            }
            return matching
        }
    }

    /// Takes out the entries with values of that type that have results, in order of entry.
    func takeFinished(_ valueType: ObjectIdentifier) -> [Entry] {
        page.withLock { page in
            let isFinished = { (entry: Entry) in entry.valueType == valueType && entry.result != nil }
            let finished = page.entries.filter(isFinished)
            page.entries.removeAll(where: isFinished)
            return finished
        }
    }

    // MARK: The table

    private struct Shelf {
        weak var group: DispatchGroup?
        let ledger: GroupLedger
    }

    private struct Table {
        var shelves: [ObjectIdentifier: Shelf] = [:]
        var sweepAt = 16
    }

    private static let table = VisibleMutex(Table())

    /// The group's ledger, if it has one. Releases nothing.
    static func existing(of group: DispatchGroup) -> GroupLedger? {
        table.withLock { table in
            let found = table.shelves[ObjectIdentifier(group)]
            return found?.group === group ? found?.ledger : nil
        }
    }

    @usableFromInline
    static func of(_ group: DispatchGroup) -> GroupLedger {
        // Ledgers of groups that are gone, with uncollected results: not released under the lock, because their ends
        // are the users' and may come back here.
        var swept: [Shelf] = []
        var met: [DispatchGroup] = []
        let ledger = table.withLock { table in
            let key = ObjectIdentifier(group)
            let found = table.shelves[key]
            if let found, found.group === group { return found.ledger }
            if let found { swept.append(found) }
            if table.shelves.count >= table.sweepAt {
                table.shelves = table.shelves.filter { _, shelf in
                    if let group = shelf.group {
                        met.append(group)
                        return true
                    }
                    swept.append(shelf)
                    return false
                }
                table.sweepAt = max(16, table.shelves.count * 2)
            }
            let ledger = GroupLedger()
            table.shelves[key] = Shelf(group: group, ledger: ledger)
            return ledger
        }
        withExtendedLifetime((swept, met)) {}
        return ledger
    }
}
