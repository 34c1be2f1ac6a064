// SPDX-License-Identifier: Apache-2.0
//
// Histories of SafeArray and SafeDictionary on real threads, against Array and Dictionary (History.swift).
//
// Have been seen to fail on: an append of two steps, and one without the lock; a count read outside it; a popLast of
// two steps; a withWriteLock on a copy; a value that was read before the call; an insertIfAbsent and a change in
// place of two steps; a value(forKey:orInsert:) that does not recheck.

import Interlock
import Testing

/// A collection whose model gives one answer to each call.
private protocol CollectionSubject: HistorySubject where Call == FuzzStep<Verb> {
    associatedtype Verb: RawRepresentable<String> & CaseIterable & Sendable

    var verbs: [Verb] { get }
    func answer(_ call: Call) -> Int?
    func answer(_ call: Call, of model: inout State) -> Int?
}

extension CollectionSubject {
    func makeCall(using random: inout SplitMix) -> Call {
        let (verb, key) = (verbs.randomElement(using: &random)!, Int.random(in: 0..<2, using: &random))
        return Call(verb: verb, first: key, second: Int.random(in: 1...1 << 30, using: &random))
    }

    func play(_ call: Call, _ record: CallRecord<Self>) {
        let called = moment()
        let answer = answer(call)
        record.add(call, answer, called: called, returned: moment())
    }

    func apply(_ call: Call, _ answer: Int?, to model: inout State) -> Bool {
        self.answer(call, of: &model) == answer
    }
}

private struct ArraySubject: CollectionSubject {
    enum Verb: String, CaseIterable {
        case append, popLast, count, element, write, digest, removeLast, get, set, modify
    }

    /// Those of an array that may be empty.
    static let general: [Verb] = [.append, .popLast, .count, .element, .write, .digest]

    let array = SafeArray<Int>()
    let start: [Int]
    let verbs: [Verb]

    var state: [Int] {
        get { array.snapshot }
        nonmutating set { array.replaceAll(with: newValue) }
    }

    func answer(_ call: FuzzStep<Verb>) -> Int? {
        switch call.verb {
        case .append: array.append(call.second)
        case .popLast: return array.popLast()
        case .count: return array.count
        case .element: return array.element(at: call.first)
        case .write: array.withWriteLock { add(call.second, toAll: &$0) }
        case .digest: return array.withReadLock { digest($0) }
        case .removeLast: return array.removeLast()
        case .get: return array[call.first]
        case .set: array[call.first] = call.second
        case .modify: array[call.first] += call.second
        }
        return nil
    }

    func answer(_ call: FuzzStep<Verb>, of model: inout [Int]) -> Int? {
        switch call.verb {
        case .append: model.append(call.second)
        case .popLast, .removeLast: return model.popLast()
        case .count: return model.count
        case .element, .get: return call.first < model.count ? model[call.first] : nil
        case .write: add(call.second, toAll: &model)
        case .digest: return digest(model)
        case .set: model[call.first] = call.second
        case .modify: model[call.first] += call.second
        }
        return nil
    }

    private func add(_ value: Int, toAll elements: inout [Int]) {
        // One more meanwhile, which no other call sees.
        elements.append(0)
        for index in elements.indices { elements[index] += value }
        elements.removeLast()
    }

    private func digest(_ elements: [Int]) -> Int { elements.reduce(0) { $0 &* 31 &+ $1 } }
}

private struct DictionarySubject: CollectionSubject {
    enum Verb: String, CaseIterable {
        case get, set, update, remove, insertIfAbsent, valueOrInsert, modify, write, count
    }

    let dictionary = SafeDictionary<Int, Int>()
    let start = [0: 1]
    let verbs = Verb.allCases

    var state: [Int: Int] {
        get { dictionary.snapshot }
        nonmutating set { dictionary.replaceAll(with: newValue) }
    }

    func answer(_ call: FuzzStep<Verb>) -> Int? {
        let (key, value) = (call.first, call.second)
        switch call.verb {
        case .get: return dictionary[key]
        case .set: dictionary[key] = value
        case .update: return dictionary.updateValue(value, forKey: key)
        case .remove: return dictionary.removeValue(forKey: key)
        case .insertIfAbsent: return dictionary.insertIfAbsent(value, forKey: key) ? 1 : 0
        case .valueOrInsert: return dictionary.value(forKey: key, orInsert: value)
        case .modify: dictionary[key, default: 0] += value
        case .write: dictionary.withWriteLock { exchange(&$0) }
        case .count: return dictionary.count
        }
        return nil
    }

    func answer(_ call: FuzzStep<Verb>, of model: inout [Int: Int]) -> Int? {
        let (key, value, old) = (call.first, call.second, model[call.first])
        switch call.verb {
        case .get: return old
        case .set: model[key] = value
        case .update: return model.updateValue(value, forKey: key)
        case .remove: return model.removeValue(forKey: key)
        case .insertIfAbsent, .valueOrInsert:
            model[key] = old ?? value
            return call.verb == .valueOrInsert ? model[key] : old == nil ? 1 : 0
        case .modify: model[key, default: 0] += value
        case .write: exchange(&model)
        case .count: return model.count
        }
        return nil
    }

    private func exchange(_ entries: inout [Int: Int]) {
        let value = entries[0]
        entries[0] = entries[1]
        entries[1] = value
    }
}

// contract: SafeArray, SafeDictionary
@Suite(.timeLimit(.minutes(10))) struct CollectionHistoryTests {
    @Test func theCallsOfAnArrayHaveAnOrder() {
        checkHistories("SafeArray, short", of: ArraySubject(start: [1], verbs: ArraySubject.general))
        let long = ArraySubject(start: Array(0..<32), verbs: ArraySubject.Verb.allCases)
        checkHistories("SafeArray, long", of: long)
    }

    @Test func theCallsOfADictionaryHaveAnOrder() {
        checkHistories("SafeDictionary", of: DictionarySubject())
    }

    /// The checker: a count of 0 may be answered beside an append, and not after it.
    @Test(arguments: [(5, true), (15, false)]) func anOldAnswerFitsOnlyBesideTheChange(
        called: UInt64,
        fits: Bool
    ) {
        let subject = ArraySubject(start: [], verbs: [])
        let append = FuzzStep(verb: ArraySubject.Verb.append, first: 0, second: 7)
        let count = FuzzStep(verb: ArraySubject.Verb.count, first: 0, second: 0)
        let calls = [
            RecordedCall(thread: 0, call: append, answer: nil, called: 0, returned: 10),
            RecordedCall(thread: 1, call: count, answer: 0, called: called, returned: 20),
        ]
        var checker = HistoryChecker(subject, calls, to: [7])
        var toAnotherEnd = HistoryChecker(subject, calls, to: [8])
        let answers = (checker.fits(from: []), toAnotherEnd.fits(from: []))
        #expect(answers == (fits, false))
    }
}
