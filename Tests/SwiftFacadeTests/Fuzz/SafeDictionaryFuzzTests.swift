// SPDX-License-Identifier: Apache-2.0
//
// SafeDictionary against Dictionary (Fuzzing.swift), as SafeArrayFuzzTests. Keys are items as well: that the old key
// stays when a value is exchanged is compared. The model takes over which entry popFirst takes.
//
// Has been seen to fail on: a removal that is announced as a replacement; an insertIfAbsent that replaces; a merge that
// swaps the two values.

import Dispatch
import Interlock
import Testing
// contract: SafeDictionary
@Suite struct SafeDictionaryFuzzTests {
    enum Verb: String, CaseIterable, Sendable {
        case assign, assignNil, assignDefault, modify, modifyDefault, updateValue, removeValue, popFirst,
            insertIfAbsent
        case valueOrInsert, updateDefault, update, merge, mergeDictionary, removeAllWhere, removeAll,
            replaceAll, drain
        case reserve, questions, filter, write, subscribe
    }

    private typealias Contents = [Item: Item]

    private struct Play: FuzzPlay {
        var items = ItemSource()
        let dictionary: SafeDictionary<Item, Item>
        var subject: SafeDictionary<Item, Item> { dictionary }
        var model: Contents = [:]
        var subscriptions: [(ChangeSubscription, Replayed<Contents>)] = []
        static let withClosures: [Verb] = [
            .modify, .modifyDefault, .valueOrInsert, .updateDefault, .update, .merge, .mergeDictionary,
            .removeAllWhere, .write,
        ]
        var thrown = ThrownVerbs()
        let queue = DispatchQueue(label: "announcements")

        init(seed: UInt64) {
            var random = SplitMix(state: ~seed)
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                model[items.make(Int.random(in: 0..<12, using: &random))] = items.make(1)
            }
            dictionary = SafeDictionary(model)
            if Bool.random(using: &random) { subscribe() }
        }

        mutating func subscribe() {
            let copy = Replayed(dictionary.snapshot)
            let subscription = dictionary.changes(deliverOn: queue) { change in
                copy.apply { contents throws(Mismatch) in try Self.replay(change, onto: &contents) }
            }
            subscriptions.append((subscription, copy))
        }

        static func replay(_ change: SafeDictionary<Item, Item>.Change, onto contents: inout Contents)
            throws(Mismatch)
        {
            let (key, old) =
                switch change {
                case .insertion(let key, _): (key, Item?.none)
                case .removal(let key, let value): (key, value)
                case .replacement(let key, let old, _): (key, old)
                }
            guard contents[key] == old else { throw Mismatch("\(change) does not fit \(contents)") }
            change.apply(to: &contents)
        }

        mutating func play(_ step: FuzzStep<Verb>) throws(Mismatch) {
            switch step.verb {
            case .assign, .assignNil, .assignDefault, .modify, .modifyDefault, .updateValue, .removeValue,
                .insertIfAbsent,
                .valueOrInsert, .updateDefault, .update:
                try changeOne(step)
            case .merge, .mergeDictionary, .removeAllWhere, .removeAll, .replaceAll, .drain, .popFirst,
                .write:
                try changeSeveral(step)
            case .reserve:
                dictionary.reserveCapacity(step.first % 64)
            case .subscribe:
                if subscriptions.count < 2 { subscribe() }
            default:
                try ask(step)
            }
            try agreeByIdentity("the dictionary", dictionary.snapshot, model)
        }

        private mutating func changeOne(_ step: FuzzStep<Verb>) throws(Mismatch) {
            let key = items.make(step.first)
            let value = items.make(step.second)
            switch step.verb {
            case .assign:
                dictionary[key] = value
                model[key] = value
            case .assignNil:
                dictionary[key] = nil
                model[key] = nil
            case .assignDefault:
                dictionary[key, default: items.make(step.second + 1)] = value
                model[key] = value
            case .modify:
                let choice = step.second
                try playBoth(step) { dictionary, pass in
                    try exchange(&dictionary[key], value, choice, pass)
                } _: { model, pass in
                    try exchange(&model[key], value, choice, pass)
                }
            case .modifyDefault:
                let fallback = items.make(step.second + 1)
                try playBoth(step) { dictionary, pass in
                    try replace(&dictionary[key, default: fallback], with: value, pass)
                } _: { model, pass in
                    try replace(&model[key, default: fallback], with: value, pass)
                }
            case .updateValue:
                try agree(
                    "the answer",
                    dictionary.updateValue(value, forKey: key),
                    model.updateValue(value, forKey: key)
                )
            case .removeValue:
                try agree("the answer", dictionary.removeValue(forKey: key), model.removeValue(forKey: key))
            case .insertIfAbsent:
                try agree("the answer", dictionary.insertIfAbsent(value, forKey: key), model[key] == nil)
                if model[key] == nil { model[key] = value }
            case .valueOrInsert:
                let make: (Pass) throws -> Item = { pass in
                    try pass()
                    return value
                }
                try playBoth(step) { dictionary, pass in
                    try dictionary.value(forKey: key, orInsert: make(pass)).serial
                } _: { model, pass in
                    if let known = model[key] { return known.serial }
                    model[key] = try make(pass)
                    return value.serial
                }
            case .updateDefault:
                let fallback = items.make(step.second + 1)
                try playBoth(step) { dictionary, pass in
                    try dictionary.update(forKey: key, default: fallback) {
                        try replace(&$0, with: value, pass)
                    }
                } _: { model, pass in
                    try replace(&model[key, default: fallback], with: value, pass)
                }
            default:
                try playBoth(step) { dictionary, pass in
                    try dictionary.update(forKey: key) { try replace(&$0, with: value, pass) }
                } _: { model, pass in
                    model[key] == nil ? nil : try replace(&model[key]!, with: value, pass)
                }
            }
        }

        private mutating func changeSeveral(_ step: FuzzStep<Verb>) throws(Mismatch) {
            let keys = Array(Set(items.make(step.first, count: step.second % 5)))
            let pairs = keys.map { ($0, items.make(step.second)) }
            switch step.verb {
            case .merge:
                let combine: (Item, Item, Pass) throws -> Item = { old, new, pass in
                    try pass()
                    return old.value % 2 == 0 ? old : new
                }
                try playBoth(step) { dictionary, pass in
                    try dictionary.merge(pairs) { try combine($0, $1, pass) }
                    return true
                } _: { model, pass in
                    try model.merge(pairs) { try combine($0, $1, pass) }
                    return true
                }
            case .mergeDictionary:
                let others = Dictionary(uniqueKeysWithValues: pairs)
                let combine: (Item, Item, Pass) throws -> Item = { _, new, pass in
                    try pass()
                    return new
                }
                try playBoth(step) { dictionary, pass in
                    try dictionary.merge(others) { try combine($0, $1, pass) }
                    return true
                } _: { model, pass in
                    try model.merge(others) { try combine($0, $1, pass) }
                    return true
                }
            case .removeAllWhere:
                let rest = step.first % 3
                let isWanted: (Item, Pass) throws -> Bool = { key, pass in
                    try pass()
                    return key.value % 3 == rest
                }
                try playBoth(step) { dictionary, pass in
                    try dictionary.removeAll { key, _ in try isWanted(key, pass) }
                    return true
                } _: { model, pass in
                    // All or nothing.
                    model = try model.filter { try !isWanted($0.key, pass) }
                    return true
                }
            case .removeAll:
                dictionary.removeAll(keepingCapacity: step.first % 2 == 0)
                model = [:]
            case .replaceAll:
                let others = Dictionary(uniqueKeysWithValues: pairs)
                try agreeByIdentity("the answer", dictionary.replaceAll(with: others), model)
                model = others
            case .drain:
                try agreeByIdentity("the answer", dictionary.drain(), model)
                model = [:]
            case .popFirst:
                guard let taken = dictionary.popFirst() else {
                    return try agree("isEmpty", model.isEmpty, true)
                }
                guard let index = model.index(forKey: taken.key), model[index].key === taken.key,
                    model[index].value === taken.value
                else { throw Mismatch("\(taken) was not in \(model)") }
                model.remove(at: index)
            default:
                let removed = items.make(step.second)
                let change: (inout Contents, Pass) throws -> Bool = { entries, pass in
                    try pass()
                    for (key, value) in pairs { entries[key] = value }
                    try pass()
                    entries[removed] = nil
                    try pass()
                    return true
                }
                try playBoth(step) { dictionary, pass in
                    try dictionary.withWriteLock { try change(&$0, pass) }
                } _: { model, pass in
                    try change(&model, pass)
                }
            }
        }

        private mutating func ask(_ step: FuzzStep<Verb>) throws(Mismatch) {
            let key = items.make(step.first)
            let value = items.make(step.second)
            try agree("count", dictionary.count, model.count)
            try agree("isEmpty", dictionary.isEmpty, model.isEmpty)
            try agree("value(forKey:)", dictionary.value(forKey: key), model[key])
            try agree(
                "value(forKey:default:)",
                dictionary.value(forKey: key, default: value),
                model[key, default: value]
            )
            try agree("contains(key:)", dictionary.contains(key: key), model[key] != nil)
            try agree("keys", Set(dictionary.keys), Set(model.keys))
            try agree("values", dictionary.values.map(\.serial).sorted(), model.values.map(\.serial).sorted())
            guard step.verb == .filter else { return }
            try agreeByIdentity("filter", dictionary.filter { $0.key < key }, model.filter { $0.key < key })
        }
    }

    @Test(.timeLimit(.minutes(10))) func everyVerbAgreesWithDictionaryAndAnnouncementsMakeACopy() {
        fuzz("SafeDictionary", Play.self)
    }
}

/// Answers what was there.
private func replace(_ value: inout Item, with new: Item, _ pass: Pass) throws -> Int {
    let before = value.serial
    try pass()
    value = new
    try pass()
    return before
}

private func exchange(_ value: inout Item?, _ new: Item, _ choice: Int, _ pass: Pass) throws -> Bool {
    value = choice % 3 == 0 ? nil : choice % 3 == 1 ? new : value
    try pass()
    return true
}

private func agreeByIdentity(_ what: String, _ actual: [Item: Item], _ expected: [Item: Item])
    throws(Mismatch)
{
    let agrees =
        actual.count == expected.count
        && expected.allSatisfy { key, value in
            guard let index = actual.index(forKey: key) else { return false }
            return actual[index].key === key && actual[index].value === value
        }
    guard agrees else { throw Mismatch("\(what) is \(actual) where \(expected) was to come") }
}
