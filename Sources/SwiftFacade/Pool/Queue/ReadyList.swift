// SPDX-License-Identifier: Apache-2.0
//
// Jobs that are ready and may not run yet. A job that ends meanwhile, or whose priority changes, leaves an entry
// behind. Such entries go when a list has grown to twice what was left at the last time: so a job adds a constant time,
// and a list of a suspended queue keeps no more than twice the jobs that have waited in it at once (or 64).

/// Jobs in the order in which they came. Guarded by the lock of the queue's state.
struct JobList {
    private var nodes: [JobNode?] = []
    private var head = 0
    private var mostEntries = 64

    var count: Int { nodes.count - head }

    /// `isListed`: whether an entry of the list is still of use. What is not goes to `gone`, for the caller to free.
    mutating func append(_ node: JobNode, keeping isListed: (JobNode) -> Bool, _ gone: inout [JobNode]) {
        if count >= mostEntries {
            let entries = takeAll()
            for entry in entries { if isListed(entry) { nodes.append(entry) } else { gone.append(entry) } }
            mostEntries = max(64, 2 * nodes.count)
        }
        nodes.append(node)
    }

    mutating func popFirst() -> JobNode? {
        if count == 0 { return nil }
        let node = nodes[head].take()
        head += 1
        if head >= 64, head * 2 >= nodes.count {
            nodes.removeFirst(head)
            head = 0
        }
        return node
    }

    mutating func takeAll() -> [JobNode] {
        defer { self = JobList() }
        return nodes[head...].map { $0! }
    }
}

/// In which lists of its queue a job has an entry: in each at most once. Guarded by the node's stripe.
struct JobListings: OptionSet {
    let rawValue: UInt8

    static let behindBarrier = JobListings(rawValue: 1 << 7)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ priority: JobPriority) { rawValue = 1 << UInt8(priority.rawValue) }
}

struct ReadyList {
    private var lists = Array(repeating: JobList(), count: 5)
    private var picks: UInt64 = 0

    /// Entries, some of which may be of jobs that have ended or moved.
    var count: Int { lists.reduce(0) { $0 + $1.count } }

    /// A node whose priority changes is listed again.
    mutating func append(_ node: JobNode, _ gone: inout [JobNode]) {
        guard let priority = node.enterList() else { return }
        lists[Int(priority.rawValue)].append(node, keeping: { $0.isListed(with: priority) }, &gone)
    }

    /// The next job, with the priority it is listed with: the highest first, and so that none starves. Of 64 picks,
    /// four look for high, two for normal, and one each for low and very low ones first.
    mutating func popFirst() -> (JobNode, JobPriority)? {
        picks &+= 1
        let first: JobPriority =
            switch picks & 63 {
            case 0: .veryLow
            case 32: .low
            case 16, 48: .normal
            case 8, 24, 40, 56: .high
            default: .veryHigh
            }
        if let node = lists[Int(first.rawValue)].popFirst() { return (node, first) }
        for index in lists.indices {
            if let node = lists[index].popFirst() { return (node, JobPriority(rawValue: Int8(index))!) }
        }
        return nil
    }
}

extension JobNode {
    /// The list of its priority, which it enters now; nil where it is in it.
    final func enterList() -> JobPriority? {
        withStripe { fields, _ in
            fields.pointee.listings.remove(.behindBarrier)
            let priority = fields.pointee.priority
            return fields.pointee.listings.insert(JobListings(priority)).inserted ? priority : nil
        }
    }

    /// The node is listed with `priority`, where it has not ended.
    final func isListed(with priority: JobPriority) -> Bool {
        withStripe { fields, _ in
            if fields.pointee.state.phase == .listed, fields.pointee.priority == priority { return true }
            fields.pointee.listings.remove(JobListings(priority))
            return false
        }
    }

    /// The queue gives a job that was listed with `priority` a place; false: it has ended meanwhile, has a place, or is
    /// listed with another priority. Under the lock of the queue's state.
    final func takePlace(_ priority: JobPriority) -> Bool {
        withStripe { fields, _ in
            fields.pointee.listings.remove(JobListings(priority))
            if fields.pointee.state.phase != .listed || fields.pointee.priority != priority { return false }
            fields.pointee.state.move(to: .submitted)
            fields.pointee.era = placedEra
            return true
        }
    }

    /// False: it waits behind a barrier already.
    final func waitBehindBarrier() -> Bool {
        withStripe { fields, _ in fields.pointee.listings.insert(.behindBarrier).inserted }
    }
}
