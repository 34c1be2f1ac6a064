// SPDX-License-Identifier: Apache-2.0
//
// SafeSet against Set (Fuzzing.swift), as SafeDictionaryFuzzTests.
//
// Has been seen to fail on: an insertion of a known member that is announced; an intersection that subtracts; an update
// that answers the new member.

import Dispatch
import Interlock
import Testing
// contract: SafeSet
@Suite struct SafeSetFuzzTests {
    enum Verb: String, CaseIterable, Sendable {
        case insert, update, remove, popFirst, removeFirst, formUnion, subtract, formIntersection
        case formSymmetricDifference, replaceAll, removeAllWhere, removeAll, drain, reserve, questions,
            filter, relations
        case write, subscribe
    }

    private struct Play: FuzzPlay {
        var items = ItemSource()
        let set: SafeSet<Item>
        var subject: SafeSet<Item> { self.set }
        var model: Set<Item>
        var subscriptions: [(ChangeSubscription, Replayed<Set<Item>>)] = []
        static let withClosures: [Verb] = [.removeAllWhere, .write]
        var thrown = ThrownVerbs()
        let queue = DispatchQueue(label: "announcements")

        init(seed: UInt64) {
            var random = SplitMix(state: ~seed)
            model = Set(items.make(Int(seed % 1_000), count: Int.random(in: 0...6, using: &random)))
            set = SafeSet(model)
            if Bool.random(using: &random) { subscribe() }
        }

        mutating func subscribe() {
            let copy = Replayed(set.snapshot)
            let subscription = set.changes(deliverOn: queue) { change in
                copy.apply { contents throws(Mismatch) in try Self.replay(change, onto: &contents) }
            }
            subscriptions.append((subscription, copy))
        }

        static func replay(_ change: SafeSet<Item>.Change, onto contents: inout Set<Item>) throws(Mismatch) {
            let fits =
                switch change {
                case .insertion(let member): contents.insert(member).inserted
                case .removal(let member): contents.remove(member) != nil
                }
            guard fits else { throw Mismatch("\(change) does not fit \(contents)") }
        }

        mutating func play(_ step: FuzzStep<Verb>) throws(Mismatch) {
            switch step.verb {
            case .insert, .update, .remove, .popFirst, .removeFirst: try changeOne(step)
            case .questions, .filter, .relations: try ask(step)
            case .reserve: set.reserveCapacity(step.first % 64)
            case .subscribe: if subscriptions.count < 2 { subscribe() }
            default: try changeSeveral(step)
            }
            try agreeByIdentity("the set", set.snapshot, model)
        }

        private mutating func changeOne(_ step: FuzzStep<Verb>) throws(Mismatch) {
            let item = items.make(step.first)
            switch step.verb {
            case .insert:
                let (answer, expected) = (set.insert(item), model.insert(item))
                try agree("inserted", answer.inserted, expected.inserted)
                try agree("the member", answer.memberAfterInsert.serial, expected.memberAfterInsert.serial)
            case .update:
                try agree("the answer", set.update(with: item)?.serial, model.update(with: item)?.serial)
            case .remove:
                try agree("the answer", set.remove(item)?.serial, model.remove(item)?.serial)
            default:
                guard !model.isEmpty else { return try agree("the answer", set.popFirst(), nil) }
                let taken = step.verb == .popFirst ? set.popFirst() : set.removeFirst()
                guard let taken, model.remove(taken) === taken else {
                    throw Mismatch("\(taken as Any) was not in \(model)")
                }
            }
        }

        private mutating func changeSeveral(_ step: FuzzStep<Verb>) throws(Mismatch) {
            let others = items.make(step.first, count: step.second % 6)
            switch step.verb {
            case .formUnion:
                set.formUnion(others)
                model.formUnion(others)
            case .subtract:
                set.subtract(others)
                model.subtract(others)
            case .formIntersection:
                set.formIntersection(others)
                model.formIntersection(others)
            case .formSymmetricDifference:
                set.formSymmetricDifference(others)
                model.formSymmetricDifference(Set(others))
            case .replaceAll:
                let new = Set(others)
                try agreeByIdentity("the answer", set.replaceAll(with: new), model)
                model = new
            case .removeAllWhere:
                let rest = step.first % 3
                let isWanted: (Item, Pass) throws -> Bool = { member, pass in
                    try pass()
                    return member.value % 3 == rest
                }
                try playBoth(step) { set, pass in
                    try set.removeAll { try isWanted($0, pass) }
                    return true
                } _: { model, pass in
                    // All or nothing.
                    model = try model.filter { try !isWanted($0, pass) }
                    return true
                }
            case .removeAll:
                set.removeAll(keepingCapacity: step.first % 2 == 0)
                model = []
            case .drain:
                try agreeByIdentity("the answer", set.drain(), model)
                model = []
            default:
                let removed = items.make(step.second)
                let change: (inout Set<Item>, Pass) throws -> Bool = { members, pass in
                    try pass()
                    for other in others { members.insert(other) }
                    try pass()
                    members.remove(removed)
                    try pass()
                    return true
                }
                try playBoth(step) { set, pass in
                    try set.withWriteLock { try change(&$0, pass) }
                } _: { model, pass in
                    try change(&model, pass)
                }
            }
        }

        private mutating func ask(_ step: FuzzStep<Verb>) throws(Mismatch) {
            let others = items.make(step.first, count: step.second % 6)
            switch step.verb {
            case .filter:
                try agreeByIdentity("filter", set.filter { $0.value > 5 }, model.filter { $0.value > 5 })
            case .relations:
                try agree("isSubset", set.isSubset(of: others), model.isSubset(of: others))
                try agree("isSuperset", set.isSuperset(of: others), model.isSuperset(of: others))
                try agree("isStrictSubset", set.isStrictSubset(of: others), model.isStrictSubset(of: others))
                try agree(
                    "isStrictSuperset",
                    set.isStrictSuperset(of: others),
                    model.isStrictSuperset(of: others)
                )
                try agree("isDisjoint", set.isDisjoint(with: others), model.isDisjoint(with: others))
            default:
                try agree("count", set.count, model.count)
                try agree("isEmpty", set.isEmpty, model.isEmpty)
                for other in others { try agree("contains", set.contains(other), model.contains(other)) }
                try agree("the members", Set(set), model)
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func everyVerbAgreesWithSetAndAnnouncementsMakeACopy() {
        fuzz("SafeSet", Play.self)
    }
}

private func agreeByIdentity(_ what: String, _ actual: Set<Item>, _ expected: Set<Item>) throws(Mismatch) {
    let agrees =
        actual.count == expected.count
        && expected.allSatisfy { member in
            actual.firstIndex(of: member).map { actual[$0] === member } ?? false
        }
    guard agrees else { throw Mismatch("\(what) is \(actual) where \(expected) was to come") }
}
