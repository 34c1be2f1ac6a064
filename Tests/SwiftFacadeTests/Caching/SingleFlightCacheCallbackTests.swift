// SPDX-License-Identifier: Apache-2.0
//
// Questions that are called back.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockPool
// contract: SingleFlightCache, WorkerPool
@Suite(.timeLimit(.minutes(10))) struct SingleFlightCacheCallbackTests {
    private let queue = GCD.serialQueue(label: "delivery")
    private let key = DispatchSpecificKey<Bool>()

    private init() { queue.setSpecific(key: key, value: true) }

    @Test func aKeptValueIsDeliveredLaterOnItsQueue() {
        let cache = SingleFlightCache<Int, Int>()
        cache.updateValue(1, forKey: 1)
        let delivered = Trace<Int>()
        queue.sync {
            cache.value(forKey: 1, deliverOn: queue) {
                -1
            } completion: { [key] result in
                #expect(DispatchQueue.getSpecific(key: key) == true)
                if case .success(let value) = result { delivered.add(value) }
            }
            #expect(delivered.events == [], "the queue is busy")
        }
        queue.sync {}
        #expect(delivered.events == [1])
    }

    // three are called back    a task        a thread        computation
    // ask                                                    on a thread of the pool, waits
    //                          asks          asks
    // each once                has it        has it          answers
    @Test func oneComputationAnswersEveryKindOfQuestion() async throws {
        let cache = SingleFlightCache<Int, String>()
        let (open, answers, computed) = (Event(), SafeArray<String>(), Counter())
        for _ in 0..<3 {
            cache.value(forKey: 1, deliverOn: queue) {
                computed.increment()
                open.wait()
                return threadName()
            } completion: { [key] result in
                #expect(DispatchQueue.getSpecific(key: key) == true)
                if case .success(let value) = result { answers.append(value) }
            }
        }
        let task = Task { try await cache.value(forKey: 1) { "task" } }
        let thread = TestThread {
            if let value = try? cache.value(forKey: 1, orCompute: { "thread" }) { answers.append(value) }
        }
        #expect(await eventuallySuspending { cache.waiters(forKey: 1) == 5 })
        open.happen()
        answers.append(try await task.value)
        thread.join()
        #expect(await eventuallySuspending { answers.count == 5 })
        queue.sync {}
        #expect(answers.count == 5 && answers.snapshot.allSatisfy { $0.hasPrefix("blocking") })
        #expect(computed.value == 1)
    }

    @Test func anErrorIsDeliveredAndWhatTheClosuresHoldIsReleased() async {
        let cache = SingleFlightCache<Int, Int>()
        let lifetimes = LifetimeCounter()
        let delivered = Trace<Refusal>()
        func ask() {
            let held = (Counted(1, lifetimes), Counted(2, lifetimes))
            cache.value(forKey: 1, deliverOn: queue) {
                throw Refusal(number: held.0.id)
            } completion: { result in
                do { _ = try result.get() } catch let error as Refusal {
                    delivered.add(Refusal(number: error.number + held.1.id))
                } catch {}
            }
        }
        ask()
        await eventually("it is delivered, and nothing is left") {
            delivered.events == [Refusal(number: 3)] && lifetimes.living == 0
        }
        #expect(cache.count == 0)
    }

    @Test func aChangeOfTheKeyDoesNotKeepTheAnswerFromItsQuestion() async {
        let cache = SingleFlightCache<Int, Int>()
        let (begun, open, delivered) = (Event(), Event(), Trace<Int>())
        cache.value(forKey: 1, deliverOn: queue) {
            begun.happen()
            open.wait()
            return 1
        } completion: { result in
            if case .success(let value) = result { delivered.add(value) }
        }
        begun.wait()
        cache.updateValue(2, forKey: 1)
        open.happen()
        #expect(await eventuallySuspending { delivered.events == [1] })
        #expect(cache.cachedValue(forKey: 1) == 2)
    }

    // called back     a thread                         computation
    // asks                                             waits
    //                 asks with a limit: times out
    // has the value                                    is not given up
    @Test func aQuestionThatIsCalledBackKeepsItsComputation() async {
        let cache = SingleFlightCache<Int, Int>()
        let open = Event()
        let delivered = Trace<Int>()
        cache.value(forKey: 1, deliverOn: queue) {
            open.wait()
            return 1
        } completion: { result in
            if case .success(let value) = result { delivered.add(value) }
        }
        onThreads(1) { _ in
            #expect(throws: SingleFlightTimedOut.self) {
                try cache.value(forKey: 1, timeout: .milliseconds(5)) { -1 }
            }
        }
        #expect(cache.waiters(forKey: 1) == 1)
        open.happen()
        #expect(await eventuallySuspending { delivered.events == [1] })
        #expect(cache.cachedValue(forKey: 1) == 1)
    }
}
