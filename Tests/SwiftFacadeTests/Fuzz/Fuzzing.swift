// SPDX-License-Identifier: Apache-2.0
//
// Differential fuzzing: random sequences of verbs are played on a collection of the toolkit and on the standard
// library's. Answers and contents must be the same after each step, and so must copies onto which the announcements are
// replayed. A mismatch is reported with its seed, its configuration and the steps that matter; the line printed when a
// driver begins has the seed of a trap.
//
//     INTERLOCK_FUZZ_SECONDS   budget of each driver; 1 if unset
//     INTERLOCK_FUZZ_ROUNDS    at most so many sequences
//     INTERLOCK_FUZZ_SEED      seed of the first sequence, greater by 1 for each next. A seed alone is played once:
//                              what a failure printed.
//
// Rule for drivers: arguments are reduced to what the state allows (an index modulo the count), so that any part of a
// sequence is a sequence; and all randomness comes from the seed.

import Dispatch
import Foundation
import Interlock
import Testing

/// splitmix64 (Steele, Lea, Flood, 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

struct FuzzStep<Verb: RawRepresentable & CaseIterable & Sendable>: CustomStringConvertible, Sendable {
    let verb: Verb
    let first: Int
    let second: Int

    var description: String { "\(verb) \(first) \(second)" }

    func index(in count: Int) -> Int? { count == 0 ? nil : first % count }

    /// A place between elements.
    func place(in count: Int) -> Int { first % (count + 1) }

    /// A range of indices.
    func range(in count: Int) -> Range<Int> {
        let one = first % (count + 1)
        let other = second % (count + 1)
        return Swift.min(one, other)..<Swift.max(one, other)
    }
}

/// What does not agree.
struct Mismatch: Error {
    let text: String
    init(_ text: String) { self.text = text }
}

func agree<Value: Equatable>(_ what: String, _ actual: Value, _ expected: Value) throws(Mismatch) {
    guard actual == expected else { throw Mismatch("\(what) is \(actual) where \(expected) was to come") }
}

/// Equal to others and still itself: which of two equal ones stays is compared. Hash values collide on purpose. Counts
/// its living ones.
final class Item: Hashable, Comparable, Sendable, CustomStringConvertible {
    let value: Int
    let serial: Int
    private let living: LifetimeCounter
    private let life: Counted

    init(_ value: Int, serial: Int, _ living: LifetimeCounter) {
        self.value = value
        self.serial = serial
        self.living = living
        life = Counted(serial, living)
    }

    static func == (left: Item, right: Item) -> Bool { left.value == right.value }
    static func < (left: Item, right: Item) -> Bool { left.value < right.value }
    func hash(into hasher: inout Hasher) { hasher.combine(value % 4) }
    var description: String { "\(value).\(serial)" }
}

/// Makes the items of one sequence.
struct ItemSource {
    let living = LifetimeCounter()
    private var serial = 0

    mutating func make(_ value: Int) -> Item {
        serial += 1
        return Item(value % 12, serial: serial, living)
    }

    mutating func make(_ values: Int, count: Int) -> [Item] {
        (0..<count).map { make(values / ($0 + 1)) }
    }
}

/// What announcements make of a copy, on the delivering thread.
final class Replayed<Contents: Sendable>: Sendable {
    // Not `Mutex`, whose waits look like races to ThreadSanitizer (VisibleMutex.swift).
    private let state: ReadWriteLock<(contents: Contents, mismatch: String?)>

    init(_ contents: Contents) { state = ReadWriteLock((contents, nil)) }

    func apply(_ change: (inout Contents) throws(Mismatch) -> Void) {
        state.withWriteLock { state in
            do throws(Mismatch) {
                try change(&state.contents)
            } catch {
                state.mismatch = state.mismatch ?? error.text
            }
        }
    }

    /// Waits, with a far bound, until the copy is right.
    func settles(_ isRight: (Contents) -> Bool) throws(Mismatch) {
        let limit = ContinuousClock.now.advanced(by: .seconds(60))
        while true {
            let (right, mismatch, text) = state.withWriteLock {
                (isRight($0.contents), $0.mismatch, "\($0.contents)")
            }
            if let mismatch { throw Mismatch("announcement: \(mismatch)") }
            if right { return }
            guard ContinuousClock.now < limit else {
                throw Mismatch("the announcements make a copy of \(text)")
            }
            usleep(50)
        }
    }
}

func number(_ variable: String) -> UInt64? {
    ProcessInfo.processInfo.environment[variable].flatMap { UInt64($0) }
}

/// Called by the closures of a step; throws at one of its calls, in some of the steps.
// One thread.
final class Pass {
    private struct Stop: Error {}
    private var left: Int

    init<Verb>(_ step: FuzzStep<Verb>) {
        // Bits that the arguments of a step leave alone.
        left = step.second >> 20 & 3 == 0 ? step.first >> 20 & 3 : .max
    }

    func callAsFunction() throws {
        guard left > 0 else { throw Stop() }
        left -= 1
    }
}

/// The verbs whose closures have thrown in an observed collection.
// One thread.
final class ThrownVerbs {
    private(set) var names: Set<String> = []

    /// Runs a verb and its model with a ``Pass`` each: both throw or neither does, and their answers are the same.
    func agree<Verb, Answer: Equatable>(
        _ step: FuzzStep<Verb>,
        isObserved: Bool,
        _ verb: (Pass) throws -> Answer,
        _ model: (Pass) throws -> Answer
    ) throws(Mismatch) {
        // `nil` where it threw.
        let actual = try? verb(Pass(step))
        let expected = try? model(Pass(step))
        if actual == nil, isObserved { names.insert("\(step.verb)") }
        try InterlockTests.agree("the answer", actual, expected)
    }
}

/// Plays sequences until the budget is used up, and until `isComplete`. `play` makes a new object from the seed.
func fuzz<Verb: RawRepresentable & CaseIterable & Sendable>(
    _ name: String,
    _: Verb.Type,
    longest: Int = 120,
    until isComplete: () -> Bool = { true },
    _ play: (_ seed: UInt64, _ steps: [FuzzStep<Verb>]) throws(Mismatch) -> Void
) where Verb.RawValue == String {
    let given = number("INTERLOCK_FUZZ_SEED")
    let seconds = number("INTERLOCK_FUZZ_SECONDS")
    let mostRounds = number("INTERLOCK_FUZZ_ROUNDS") ?? (given != nil && seconds == nil ? 1 : .max)
    let first = given ?? DispatchTime.now().uptimeNanoseconds
    let limit = ContinuousClock.now.advanced(by: .seconds(Int(seconds ?? 1)))
    let verbs = Array(Verb.allCases)
    print("fuzz \(name): seeds from \(first)")
    var seed = first
    var steps = 0
    repeat {
        var random = SplitMix(state: seed)
        let sequence = (0..<Int.random(in: 1...longest, using: &random)).map { _ in
            FuzzStep(
                verb: verbs.randomElement(using: &random)!,
                first: Int.random(in: 0...1 << 30, using: &random),
                second: Int.random(in: 0...1 << 30, using: &random)
            )
        }
        do throws(Mismatch) {
            try play(seed, sequence)
        } catch {
            report(name, seed, sequence, error, play)
            return
        }
        steps += sequence.count
        seed &+= 1
    } while seed &- first < mostRounds && (ContinuousClock.now < limit || !isComplete())
    print(
        "fuzz \(name): \(seed &- first) sequences of \(steps) steps in all, seeds from \(first): no mismatch"
    )
}

/// A collection beside its model, and the copies that announcements make.
protocol FuzzPlay {
    associatedtype Verb: RawRepresentable<String> & CaseIterable & Sendable
    associatedtype Contents: Equatable & Sendable
    associatedtype Subject
    init(seed: UInt64)
    var items: ItemSource { get }
    var subject: Subject { get }
    var model: Contents { get set }
    var subscriptions: [(ChangeSubscription, Replayed<Contents>)] { get }
    /// The observed verbs that run a closure.
    static var withClosures: [Verb] { get }
    var thrown: ThrownVerbs { get set }
    mutating func play(_ step: FuzzStep<Verb>) throws(Mismatch)
}

extension FuzzPlay {
    /// A verb whose closures may throw, and its model.
    mutating func playBoth<Answer: Equatable>(
        _ step: FuzzStep<Verb>,
        _ verb: (Subject, Pass) throws -> Answer,
        _ change: (inout Contents, Pass) throws -> Answer
    ) throws(Mismatch) {
        let subject = subject
        var changed = model
        defer { model = changed }
        try thrown.agree(step, isObserved: !subscriptions.isEmpty) { pass in
            try verb(subject, pass)
        } _: { pass in
            try change(&changed, pass)
        }
    }
}

/// Plays sequences on a collection, until each verb with a closure has thrown in an observed one. At the end the copies
/// are right and no item is left.
func fuzz<Play: FuzzPlay>(_ name: String, _: Play.Type) {
    let thrown = ThrownVerbs()
    let wanted = Set(Play.withClosures.map { "\($0)" })
    let isComplete = { wanted.isSubset(of: thrown.names) }
    fuzz(name, Play.Verb.self, until: isComplete) { (seed, steps) throws(Mismatch) in
        let living: LifetimeCounter
        do {
            var play = Play(seed: seed)
            play.thrown = thrown
            living = play.items.living
            for step in steps { try play.play(step) }
            let model = play.model
            for (subscription, copy) in play.subscriptions {
                try copy.settles { $0 == model }
                subscription.cancel()
            }
        }
        guard eventually({ living.living == 0 }) else { throw Mismatch("\(living.living) items are left") }
    }
}

private func report<Verb>(
    _ name: String,
    _ seed: UInt64,
    _ sequence: [FuzzStep<Verb>],
    _ found: Mismatch,
    _ play: (_ seed: UInt64, _ steps: [FuzzStep<Verb>]) throws(Mismatch) -> Void
) {
    // Leaves out half of the steps, then ever shorter runs, while the rest still does not agree.
    var left = sequence
    var last = found
    let limit = ContinuousClock.now.advanced(by: .seconds(60))
    var run = left.count / 2
    while run > 0 {
        var start = 0
        while start + run <= left.count, ContinuousClock.now < limit {
            var fewer = left
            fewer.removeSubrange(start..<start + run)
            do throws(Mismatch) {
                try play(seed, fewer)
                start += run
            } catch {
                left = fewer
                last = error
            }
        }
        run /= 2
    }
    let lines = left.map { "    \($0)" }.joined(separator: "\n")
    Issue.record(
        """
        fuzz \(name): seed \(seed), \(sequence.count) steps: \(found.text)
        after leaving out what is not needed: \(last.text)
        \(lines)
        replay: INTERLOCK_FUZZ_SEED=\(seed)
        """
    )
}
