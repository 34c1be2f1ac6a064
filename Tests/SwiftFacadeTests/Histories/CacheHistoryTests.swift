// SPDX-License-Identifier: Apache-2.0
//
// Histories of SingleFlightCache on real threads (History.swift). A question that computes is two calls of the model:
// it leaves a flight before its computation begins, and ends it after that. So the model says that a key is computed
// once at a time, and only if no value is kept; that a value is kept, or comes from a flight in which the question
// took part; and that a change of the key is seen by every later question.
//
// Have been seen to fail on: a computation that is kept after a change of its key; a change that leaves the flight
// to later questions; two steps in which a question finds nothing and starts; two steps in which a flight ends and
// its value is kept; a removal that removes nothing.

import Interlock
import Testing

private struct CacheSubject: HistorySubject {
    enum Call: Sendable {
        case ask(Int, computing: Int), cachedValue(Int), update(Int, Int), remove(Int)
        /// The parts of a question that computes.
        case begin(Int, Int), end(Int, Int)
    }

    struct State: Hashable, Sendable {
        var kept: [Int: Int] = [:]
        var flights: [Int: Int] = [:]
    }

    /// Its number, negative, answers the questions, and is not kept.
    struct Failure: Error { let number: Int }

    let cache = SingleFlightCache<Int, Int>()
    let start = State(kept: [0: 1])

    var state: State {
        get {
            var kept: [Int: Int] = [:]
            for key in 0..<2 { kept[key] = cache.cachedValue(forKey: key) }
            return State(kept: kept)
        }
        nonmutating set {
            cache.removeAll()
            for (key, value) in newValue.kept { cache.updateValue(value, forKey: key) }
        }
    }

    func makeCall(using random: inout SplitMix) -> Call {
        let key = Int.random(in: 0..<2, using: &random)
        let number = Int.random(in: 1...1 << 30, using: &random)
        return switch Int.random(in: 0..<8, using: &random) {
        case 0: .cachedValue(key)
        case 1: .update(key, number)
        case 2, 3: .remove(key)
        case 4: .ask(key, computing: -number)
        default: .ask(key, computing: number)
        }
    }

    func play(_ call: Call, _ record: CallRecord<Self>) {
        var computed: (key: Int, number: Int, begin: UInt64, end: UInt64)?
        let called = moment()
        let answer: Int?
        switch call {
        case .cachedValue(let key): answer = cache.cachedValue(forKey: key)
        case .update(let key, let value): answer = cache.updateValue(value, forKey: key)
        case .remove(let key): answer = cache.removeValue(forKey: key)
        case .ask(let key, let number), .begin(let key, let number), .end(let key, let number):
            do {
                answer = try cache.value(forKey: key) {
                    let begin = moment()
                    spend(abs(number) % 8)
                    computed = (key, number, begin, moment())
                    if number < 0 { throw Failure(number: number) }
                    return number
                }
            } catch {
                answer = (error as? Failure)?.number
            }
        }
        let returned = moment()
        guard let (key, number, begin, end) = computed else {
            return record.add(call, answer, called: called, returned: returned)
        }
        record.add(.begin(key, number), nil, called: called, returned: begin)
        record.add(.end(key, number), answer, called: end, returned: returned)
    }

    func apply(_ call: Call, _ answer: Int?, to state: inout State) -> Bool {
        switch call {
        case .ask(let key, _):
            return answer != nil && (answer == state.kept[key] || answer == state.flights[key])
        case .cachedValue(let key): return answer == state.kept[key]
        case .update(let key, let value):
            state.flights[key] = nil
            return answer == state.kept.updateValue(value, forKey: key)
        case .remove(let key):
            state.flights[key] = nil
            return answer == state.kept.removeValue(forKey: key)
        case .begin(let key, let number):
            defer { state.flights[key] = number }
            return state.kept[key] == nil && state.flights[key] == nil
        case .end(let key, let number):
            // Unless a change of the key has overtaken it.
            if state.flights[key] == number {
                state.flights[key] = nil
                if number > 0 { state.kept[key] = number }
            }
            return answer == number
        }
    }
}

// contract: SingleFlightCache
@Suite(.timeLimit(.minutes(10))) struct CacheHistoryTests {
    @Test func theCallsOfACacheHaveAnOrder() {
        checkHistories("SingleFlightCache", of: CacheSubject())
    }
}
