// SPDX-License-Identifier: Apache-2.0
//
// A random graph of operations as a value: what each node is, what it waits for, how its work ends, when it is
// cancelled. All of it comes from the seed. A node waits only for nodes before it. Any part of a plan is a plan, so
// that one that fails can be made smaller.

/// Where the closure of a node runs, and how it ends the operation.
enum GraphWork: CaseIterable { case block, task, handler, subclass }

struct GraphNode {
    enum Shape: Hashable {
        case source
        case then(Int)
        case recover(Int)
        case flatMap(Int)
        case and(Int, Int)
        case all([Int])
        /// Operations of Foundation's classes.
        case foreignBlock, foreignSubclass
    }

    enum Ending: Hashable {
        case value, failure
        /// Of a completion: never called and dropped; called twice.
        case dropped, twice
    }

    /// What stands between an operation's start and its work: `GraphRun.install` gives it to the operation,
    /// `GraphModel.refusal` has what comes of it.
    enum Admission: Hashable {
        case open
        /// The operation is finished before its start.
        case settledEarly
        /// One after the other.
        case conditions([GraphCondition])
    }

    enum Cancellation: Hashable {
        case none, beforeAdding
        /// While it waits for an operation that ends later.
        case whileWaiting
        /// By another thread, while its closure runs.
        case whileRunning
        /// The same; its task answers with a value.
        case answered
        /// By another thread, while its first question is asked.
        case whileAsked
        /// While it waits for the category of the late operation.
        case whileExcluded
        /// By a thread that races with all else.
        case anyTime
    }

    /// An edge to the operation that ends last.
    enum LateEdge: Hashable { case none, kept, removed }

    var shape: Shape
    var work: GraphWork
    var ending: Ending
    var admission: Admission
    var cancellation: Cancellation
    var lateEdge: LateEdge
    /// Edges without data.
    var after: [Int]
    /// Those of them that are removed while the graph runs.
    var removed: [Int]
    var queue: Int
    /// The categories that it excludes.
    var categories: [Int] = []

    var isForeign: Bool { shape == .foreignBlock || shape == .foreignSubclass }

    /// The nodes whose outputs it is given.
    var inputs: [Int] {
        switch shape {
        case .source, .foreignBlock, .foreignSubclass: []
        case .then(let above), .recover(let above), .flatMap(let above): [above]
        case .and(let first, let second): [first, second]
        case .all(let above): above
        }
    }

    /// Whether its conditions do.
    var asksForDependencies: Bool {
        guard case .conditions(let conditions) = admission else { return false }
        return conditions.contains(where: \.asksForDependencies)
    }

    /// The nodes that finish before its closure begins.
    var predecessors: [Int] { inputs + after.filter { !removed.contains($0) } }
}

struct GraphPlan: CustomStringConvertible {
    let seed: UInt64
    /// How many operations each queue runs at once.
    let limits: [Int?]
    /// The limit of each category. The late operation holds the first.
    let categories: [Int]
    var nodes: [GraphNode]

    var description: String {
        let queues = limits.enumerated().map { "queue \($0): limit \($1.map(String.init) ?? "none")" }
        let lines = nodes.enumerated().map { number, node in
            var words = ["  \(number): \(node.shape) as \(node.work), queue \(node.queue)"]
            if node.ending != .value { words.append("\(node.ending)") }
            if node.admission != .open { words.append("\(node.admission)") }
            if !node.categories.isEmpty {
                words.append("excludes \(node.categories.map { "\($0) of \(categories[$0])" })")
            }
            if !node.after.isEmpty { words.append("after \(node.after)") }
            if !node.removed.isEmpty { words.append("removed \(node.removed)") }
            if node.lateEdge != .none { words.append("late edge \(node.lateEdge)") }
            if node.cancellation != .none { words.append("cancelled: \(node.cancellation)") }
            return words.joined(separator: ", ")
        }
        return (queues + lines).joined(separator: "\n")
    }
}

// MARK: Making one

extension GraphPlan {
    init(seed: UInt64, nodes count: Int) {
        var random = SplitMix(state: seed)
        self.seed = seed
        limits = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            [nil, 1, 2, 4].randomElement(using: &random)!
        }
        categories = [1] + (0..<3).map { _ in Int.random(in: 1...2, using: &random) }
        nodes = []
        for _ in 0..<count { nodes.append(nextNode(&random)) }
    }

    private func nextNode(_ random: inout SplitMix) -> GraphNode {
        let shape = nextShape(&random)
        var node = GraphNode(
            shape: shape,
            work: GraphWork.allCases.randomElement(using: &random)!,
            ending: Int.random(in: 0..<8, using: &random) == 0 ? .failure : .value,
            admission: .open,
            cancellation: .none,
            lateEdge: [.none, .none, .none, .none, .kept, .removed].randomElement(using: &random)!,
            after: (0..<[0, 0, 1, 2, 4].randomElement(using: &random)!).compactMap { _ in any(&random) },
            removed: [],
            queue: Int.random(in: 0..<limits.count, using: &random)
        )
        node.after = Array(Set(node.after).subtracting(node.inputs)).sorted()
        if node.isForeign {
            // Foundation for Linux does not release what a removed edge held.
            if node.lateEdge == .removed { node.lateEdge = .kept }
            node.ending = .value
            if Int.random(in: 0..<8, using: &random) == 0 { node.cancellation = .beforeAdding }
            return node
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            node.removed = node.after.filter { _ in Bool.random(using: &random) }
        }
        if case .source = shape, node.work == .handler, Int.random(in: 0..<6, using: &random) == 0 {
            node.ending = Bool.random(using: &random) ? .dropped : .twice
        }
        node.cancellation = nextCancellation(&random)
        if node.cancellation == .whileWaiting { node.lateEdge = .kept }
        setAdmission(of: &node, &random)
        return node
    }

    private func setAdmission(of node: inout GraphNode, _ random: inout SplitMix) {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: node.admission = .settledEarly
        case 1...6: node.admission = .conditions(GraphCondition.random(&random))
        default: break
        }
        // Which edges there are when they are asked must be known.
        if node.asksForDependencies { node.removed = [] }
        if Int.random(in: 0..<3, using: &random) == 0 {
            let count = Int.random(in: 1..<categories.count, using: &random)
            node.categories = Array(categories.indices.dropFirst().shuffled(using: &random).prefix(count))
        }
        if node.cancellation == .whileExcluded {
            node.categories.insert(0, at: Int.random(in: 0...node.categories.count, using: &random))
        }
    }

    private func nextShape(_ random: inout SplitMix) -> GraphNode.Shape {
        switch Int.random(in: 0..<14, using: &random) {
        case 0: return .foreignBlock
        case 1: return .foreignSubclass
        case 2...6:
            if let above = typed(&random) { return .then(above) }
        case 7...8:
            if let above = typed(&random) { return .recover(above) }
        case 9:
            if let above = typed(&random) { return .flatMap(above) }
        case 10:
            if let first = typed(&random), let second = typed(&random), first != second {
                return .and(first, second)
            }
        case 11:
            let above = Set((0..<4).compactMap { _ in typed(&random) })
            if !above.isEmpty { return .all(above.sorted()) }
        default: break
        }
        return .source
    }

    private func nextCancellation(_ random: inout SplitMix) -> GraphNode.Cancellation {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: .beforeAdding
        case 1, 2: .whileWaiting
        case 3, 4: .whileRunning
        case 5: .answered
        case 6, 7, 8: .anyTime
        case 9: .whileExcluded
        case 10, 11: .whileAsked
        default: .none
        }
    }

    /// A node to wait for: one of the last few, or any.
    private func any(_ random: inout SplitMix) -> Int? {
        if nodes.isEmpty { return nil }
        let first = Bool.random(using: &random) ? max(0, nodes.count - 8) : 0
        return Int.random(in: first..<nodes.count, using: &random)
    }

    /// A node with an output.
    private func typed(_ random: inout SplitMix) -> Int? {
        any(&random).flatMap { nodes[$0].isForeign ? nil : $0 }
    }
}

// MARK: Making it smaller

extension GraphPlan {
    /// Without these nodes. A step that loses an input becomes a source.
    func removing(_ gone: Range<Int>) -> GraphPlan {
        func moved(_ node: Int) -> Int? {
            gone.contains(node) ? nil : node < gone.lowerBound ? node : node - gone.count
        }
        var plan = self
        plan.nodes.removeSubrange(gone)
        for number in plan.nodes.indices {
            let node = plan.nodes[number]
            let inputs = node.inputs.compactMap(moved)
            if inputs.count < node.inputs.count {
                plan.nodes[number].shape = .source
                plan.nodes[number].after = Array(Set(node.after.compactMap(moved) + inputs)).sorted()
            } else {
                plan.nodes[number].shape = node.shape.with(inputs)
                plan.nodes[number].after = node.after.compactMap(moved)
            }
            plan.nodes[number].removed = node.removed.compactMap(moved)
        }
        return plan
    }
}

extension GraphNode.Shape {
    fileprivate func with(_ inputs: [Int]) -> Self {
        switch self {
        case .source, .foreignBlock, .foreignSubclass: self
        case .then: .then(inputs[0])
        case .recover: .recover(inputs[0])
        case .flatMap: .flatMap(inputs[0])
        case .and: .and(inputs[0], inputs[1])
        case .all: .all(inputs)
        }
    }
}
