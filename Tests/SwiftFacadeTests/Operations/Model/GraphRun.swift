// SPDX-License-Identifier: Apache-2.0
//
// Plays a plan on real queues and compares what came of it with the model:
//
//   test                                   queues                     racing thread
//   begins the late operation
//   adds foreign nodes, then the others    begin what is ready        cancels, removes edges
//   cancels what waits for the late one
//   waits for all that needs no late one, and cancels what waits for its category
//   releases the late operation            run the rest
//   waits for all, compares

import Foundation
import Testing

import Interlock

/// What was seen of one node.
struct GraphSeen {
    var runs = 0
    /// The questions of its conditions.
    var asked: [Int] = []
    var finishHooks = 0
    var completionBlocks = 0
    var events: [OperationEvent] = []
}

/// Unchecked because its operations are Foundation's; its own state is constant after `build` or behind a mutex.
final class GraphRun: @unchecked Sendable {
    let plan: GraphPlan
    let model: GraphModel
    let queues: [any QueueUnderTest]
    private let lateQueue: any QueueUnderTest
    let late: AsyncOperation<Int>
    private let lateBegan = Handshake()
    /// By node; without an output for foreign ones.
    private(set) var operations: [Operation] = []
    /// The operations below a node's own: an `and` and an `all` under the step that computes.
    private var parts: [Operation] = []
    let crowds: [Crowd]
    let categories: GraphCategories
    /// The questions that have not been answered.
    let asking = Crowd()
    let seen: VisibleMutex<[GraphSeen]>
    private let complaints = VisibleMutex<[String]>([])
    /// How long a wait may take before it counts as a hang.
    private let limit: TimeInterval

    init(_ plan: GraphPlan, _ kind: QueueKind, limit: TimeInterval = Handshake.limit) {
        self.plan = plan
        self.limit = limit
        model = GraphModel(plan: plan)
        queues = plan.limits.map(kind.make)
        lateQueue = kind.make(nil)
        crowds = plan.limits.map { _ in Crowd() }
        categories = GraphCategories(limits: plan.categories)
        seen = VisibleMutex(Array(repeating: GraphSeen(), count: plan.nodes.count))
        let (completion, began) = (VisibleBox<Completion<Int>>(), lateBegan)
        late = AsyncOperation<Int>(name: "late") { handle in
            completion.value.withLock { $0 = handle }
            began.give()
        }
        lateBox = completion
    }

    private let lateBox: VisibleBox<Completion<Int>>

    /// What does not agree with the model; empty where all does.
    func play() -> [String] {
        build()
        beginLate()
        let racing = TestThread { [self] in cancelAndRemove() }
        addAll()
        for (number, node) in plan.nodes.enumerated() where node.cancellation == .whileWaiting {
            operations[number].cancel()
        }
        racing.join()
        guard
            finish(
                plan.nodes.indices.filter { !model.waitsForLate.contains($0) },
                "before the late operation"
            )
        else {
            return complaints.withLock { $0 }
        }
        lateBox.value.withLock { $0.take() }?.succeed(0)
        guard finish(Array(plan.nodes.indices), "at the end") else { return complaints.withLock { $0 } }
        if late.wait(timeout: .seconds(limit)) == nil { complain("the late operation has not finished") }
        // What a cancellation called off may answer later than the operation ends.
        if !eventually({ asking.now == 0 }) { complain("\(asking.now) questions have no answer") }
        compare()
        // Foundation for Linux keeps them, and they keep this.
        for operation in operations { operation.completionBlock = nil }
        return complaints.withLock { $0 }
    }

    func complain(_ text: String) { complaints.withLock { $0.append(text) } }

    // MARK: Building

    private func build() {
        for number in plan.nodes.indices { operations.append(make(number)) }
        for (number, node) in plan.nodes.enumerated() {
            let operation = operations[number]
            for above in node.after { operation.addDependency(operations[above]) }
            if node.lateEdge != .none { operation.addDependency(late) }
            operation.completionBlock = { [self] in seen.withLock { $0[number].completionBlocks += 1 } }
            if let typed = operation as? AsyncOperation<Int> {
                watch(typed, number)
                exclude(node.categories, on: typed)
            }
            install(node.admission, on: operation, number)
            if node.cancellation == .beforeAdding { operation.cancel() }
        }
    }

    private func install(_ admission: GraphNode.Admission, on operation: Operation, _ number: Int) {
        switch admission {
        case .open: break
        case .settledEarly: (operation as? AsyncOperation<Int>)?.finish(.success(number))
        case .conditions(let conditions):
            for planned in conditions {
                (operation as? AsyncOperation<Int>)?.addCondition(condition(planned, of: number))
            }
        }
    }

    private func exclude(_ numbers: [Int], on operation: AsyncOperation<Int>) {
        for number in numbers { operation.excludes(categories.all[number]) }
    }

    private func watch(_ operation: AsyncOperation<Int>, _ number: Int) {
        operation.onChange { [self] event in seen.withLock { $0[number].events.append(event) } }
        operation.onFinish { [self] _ in
            seen.withLock { $0[number].finishHooks += 1 }
            if !operations[number].isFinished { complain("\(number): its hook runs before it has finished") }
        }
    }

    private func make(_ number: Int) -> Operation {
        let node = plan.nodes[number]
        let name = "\(number)"
        func above(_ other: Int) -> AsyncOperation<Int> { operations[other] as! AsyncOperation<Int> }
        switch node.shape {
        case .foreignBlock:
            let block = BlockOperation { [self] in foreignBody(number) }
            block.name = name
            return block
        case .foreignSubclass:
            return GraphForeign(name) { [self] in foreignBody(number) }
        case .source: return source(number)
        case .then(let input): return step(number, below: above(input)) { [$0] }
        case .recover(let input):
            return above(input).recover(name: name) { [self] _ in try blockBody(number, []) }
        case .flatMap(let input):
            return queues[node.queue].flatMap(above(input), name: name) { [self] in inner(number, $0) }
        case .and(let first, let second):
            let both = above(first).and(above(second), name: "\(number).and")
            parts.append(both)
            return step(number, below: both) { [$0.0, $0.1] }
        case .all(let inputs):
            let all = AsyncOperation.all(of: inputs.map(above), name: "\(number).all")
            parts.append(all)
            return step(number, below: all) { $0 }
        }
    }

    private func source(_ number: Int) -> AsyncOperation<Int> {
        let name = "\(number)"
        return switch plan.nodes[number].work {
        case .block: AsyncOperation { [self] in try blockBody(number, []) }.named(name)
        case .task: AsyncOperation { [self] in try await taskBody(number, []) }.named(name)
        case .handler:
            AsyncOperation { [self] completion in handlerBody(number, []) { completion($0) } }.named(name)
        case .subclass: GraphSubclass(name) { [self] in handlerBody(number, [], $0) }
        }
    }

    private func step<Input: Sendable>(
        _ number: Int,
        below above: AsyncOperation<Input>,
        _ inputs: @escaping @Sendable (Input) -> [Int]
    ) -> AsyncOperation<Int> {
        let name = "\(number)"
        return switch plan.nodes[number].work {
        case .block: above.then(name: name) { [self] in try blockBody(number, inputs($0)) }
        case .task: above.then(name: name) { [self] in try await taskBody(number, inputs($0)) }
        case .handler, .subclass:
            above.then(name: name) { [self] (input, completion: Completion<Int>) in
                handlerBody(number, inputs(input)) { completion($0) }
            }
        }
    }

    /// The operation of a `flatMap` step.
    private func inner(_ number: Int, _ input: Int) -> AsyncOperation<Int> {
        AsyncOperation<Int>(name: "\(number).inner") { [self] completion in
            handlerBody(number, [input]) { completion($0) }
        }
    }

    // MARK: Running

    private func beginLate() {
        exclude([0], on: late)
        lateQueue.add(late)
        lateBegan.take()
    }

    private func addAll() {
        // Suspended: a foreign operation that is added just as its last dependency finishes may never be started.
        let isHeldBack = plan.seed % 2 == 0
        if isHeldBack { for queue in queues { queue.suspend() } }
        let numbers = plan.nodes.indices
        for number in numbers where plan.nodes[number].isForeign { add(number) }
        var random = SplitMix(state: ~plan.seed)
        let shuffled = numbers.filter { !plan.nodes[$0].isForeign }.shuffled(using: &random)
        let half = TestThread { [self] in for number in shuffled.dropFirst(shuffled.count / 2) { add(number) }
        }
        for number in shuffled.prefix(shuffled.count / 2) { add(number) }
        for part in parts { lateQueue.add(part) }
        half.join()
        if isHeldBack { for queue in queues { queue.resume() } }
    }

    private func add(_ number: Int) { queues[plan.nodes[number].queue].enqueue(operations[number]) }

    /// The thread that races.
    private func cancelAndRemove() {
        var random = SplitMix(state: plan.seed &+ 1)
        for number in plan.nodes.indices.shuffled(using: &random) {
            let node = plan.nodes[number]
            for above in node.removed { operations[number].removeDependency(operations[above]) }
            if node.lateEdge == .removed { operations[number].removeDependency(late) }
            if node.cancellation == .anyTime { operations[number].cancel() }
        }
    }

    private func finish(_ numbers: [Int], _ moment: String) -> Bool {
        let deadline = ContinuousClock.now.advanced(by: .seconds(limit))
        while true {
            cancelExcluded()
            categories.complaints().forEach(complain)
            let seen = seen.withLock { $0 }
            let left = numbers.filter { number in
                !operations[number].isFinished || seen[number].completionBlocks == 0
                    || !plan.nodes[number].isForeign && seen[number].finishHooks == 0
            }
            if left.isEmpty { return true }
            if ContinuousClock.now > deadline {
                complain("\(moment): \(left.prefix(20)) have not finished")
                return false
            }
            usleep(200)
        }
    }

    // MARK: Comparing

    private func compare() {
        var ends: [GraphEnd] = []
        for (number, node) in plan.nodes.enumerated() {
            let end = GraphEnd(outcome: outcome(of: number), isCancelled: operations[number].isCancelled)
            let seen = seen.withLock { $0[number] }
            let verdicts = model.verdicts(of: number, ends)
            let isRight = verdicts.contains {
                $0.outcome == end.outcome && ($0.runs ?? (seen.runs == 1)) == (seen.runs == 1)
            }
            if !isRight || seen.runs > 1 {
                complain("\(number): \(end.outcome), run \(seen.runs) times, where \(verdicts) was to come")
            }
            if let isCancelled = model.isCancelled(number, ends), isCancelled != end.isCancelled {
                complain("\(number): cancelled is \(end.isCancelled)")
            }
            compareQuestions(number, seen, model.questions(of: number, ends))
            if seen.completionBlocks != 1 {
                complain("\(number): \(seen.completionBlocks) completion blocks")
            }
            if !node.isForeign { compareEvents(number, seen) }
            ends.append(end)
        }
        for (number, limit) in plan.limits.enumerated() {
            if let limit, crowds[number].most > limit {
                complain("queue \(number): \(crowds[number].most) at once where \(limit) may be")
            }
        }
        categories.complaintsAtTheEnd().forEach(complain)
    }

    private func compareQuestions(_ number: Int, _ seen: GraphSeen, _ questions: [Int]) {
        let node = plan.nodes[number]
        let isRight =
            if node.cancellation != .anyTime || seen.runs == 1 {
                seen.asked == questions
            } else if node.asksForDependencies {
                // A cancellation meanwhile takes the edges away, and with them what makes a condition refuse.
                Set(seen.asked).count == seen.asked.count
            } else {
                questions.starts(with: seen.asked)
            }
        if !isRight { complain("\(number): asked \(seen.asked), where \(questions) was to be") }
    }

    private func outcome(of number: Int) -> GraphOutcome {
        guard let operation = operations[number] as? AsyncOperation<Int> else { return .done }
        switch operation.result {
        case .success(let value): return .value(value)
        case .failure(let error): return outcome(error, of: number)
        case nil:
            complain("\(number): has no result")
            return .done
        }
    }

    func outcome(_ error: any Error, of number: Int) -> GraphOutcome {
        switch error {
        case let error as GraphFailure: return .failure(error.node)
        case let error as OperationCancelled: return .cancelled(node(named: error.operation))
        case let error as OperationAbandoned: return .abandoned(node(named: error.operation))
        case let error as ConditionRefused:
            return .refused(
                node(named: error.operation),
                condition: error.condition,
                reason(error.reason, of: number)
            )
        default:
            complain("\(number): \(error)")
            return .done
        }
    }

    /// A cancelled `flatMap` step ends as the operation that it made, "7.inner".
    private func node(named name: String) -> Int {
        name.split(separator: ".").first.flatMap { Int($0) } ?? -1
    }

    private func compareEvents(_ number: Int, _ seen: GraphSeen) {
        let node = plan.nodes[number]
        let events = seen.events
        func count(_ event: OperationEvent) -> Int { events.count { $0 == event } }
        func wrong(_ text: String) { complain("\(number): \(text): \(events)") }
        if seen.finishHooks != 1 { wrong("\(seen.finishHooks) finish hooks") }
        if count(.finished) != 1 { wrong("finished once") }
        if count(.ready) > 1 || count(.executing) > 1 { wrong("ready and executing at most once") }
        let cancelled = operations[number].isCancelled ? 1 : 0
        if count(.cancelled) != cancelled { wrong("cancelled once, if it was") }
        if seen.runs == 1, count(.executing) != 1 { wrong("executing once, as it ran") }
        switch node.cancellation {
        case .none:
            let expected: [OperationEvent] =
                node.admission == .settledEarly ? [.finished] : [.executing, .finished]
            if events.filter({ $0 != .ready }) != expected { wrong("\(expected) in this order") }
            if let ready = events.firstIndex(of: .ready), ready != 0 { wrong("ready before all else") }
        case .beforeAdding, .whileWaiting:
            if count(.executing) != 0 { wrong("never executing") }
        default:
            if let begin = events.firstIndex(of: .executing), begin > events.firstIndex(of: .finished)! {
                wrong("executing before finished")
            }
        }
    }
}
