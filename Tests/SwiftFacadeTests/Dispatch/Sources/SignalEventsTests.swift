// SPDX-License-Identifier: Apache-2.0
//
// Signals as sequences. Signals are the process's: the tests run one after the other, or in children.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations

@Suite(.serialized, .timeLimit(.minutes(10))) struct SignalEventsTests {
    /// Whether the default action is installed.
    static func isDefault(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self) == 0
    }

    /// Has a thread of its own receive a signal. The threads of libdispatch, and of tasks, block all signals.
    static func receive(_ signal: Int32, times: Int = 1) async {
        await blocking {
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, signal)
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            // Returns when the handler has run.
            for _ in 0..<times { raise(signal) }
        }
    }
    // contract: GCD, SignalEvent, SignalEvents, UnixSignal
    @Test func aSignalIsAnEventAndDoesNothingElse() async throws {
        let events = try GCD.signals(.sigusr1, .sigusr2, .sigusr1)
        let iterator = events.makeAsyncIterator()
        await Self.receive(SIGUSR1)
        #expect(await iterator.next() == SignalEvent(signal: .sigusr1, count: 1))
        await Self.receive(SIGUSR2)
        #expect(await iterator.next() == SignalEvent(signal: .sigusr2, count: 1))
        #expect(!Self.isDefault(SIGUSR1) && !Self.isDefault(SIGUSR2))
        #expect(events.cancel() && !events.cancel())
        try await events.finished()
        #expect(Self.isDefault(SIGUSR1) && Self.isDefault(SIGUSR2))
        #expect(await iterator.next() == nil)
    }

    // raise returns after the handler has run on this thread.
    // contract: GCD, SignalEvent, SignalEvents, UnixSignal
    @Test func eventsThatAreNotTakenAreCounted() async throws {
        let events = try GCD.signals(.sigusr1, .sigusr2)
        await Self.receive(SIGUSR1, times: 5)
        await Self.receive(SIGUSR2, times: 3)
        var counts: [UnixSignal: Int] = [:]
        for await event in events {
            counts[event.signal, default: 0] += event.count
            if counts == [.sigusr1: 5, .sigusr2: 3] { break }
        }
        try await events.finished()
        let late = try GCD.signals(.sigusr1)
        let waiting = late.makeAsyncIterator()
        await Self.receive(SIGUSR1, times: 100)
        await eventually("all wait in one event") { late.waitingCount == 100 }
        #expect(await waiting.next() == SignalEvent(signal: .sigusr1, count: 100))
    }
    // contract: SignalEvents
    @Test func eachOfSeveralSequencesGetsEveryEvent() async throws {
        let (one, two) = (try GCD.signals(.sigusr1), try GCD.signals([.sigusr1]))
        let iterator = two.makeAsyncIterator()
        await Self.receive(SIGUSR1)
        do {
            let first = one.makeAsyncIterator()
            #expect(await first.next() == SignalEvent(signal: .sigusr1, count: 1))
        }
        #expect(await iterator.next() == SignalEvent(signal: .sigusr1, count: 1))
        try await one.finished()
        #expect(!Self.isDefault(SIGUSR1), "the other one goes on")
        await Self.receive(SIGUSR1)
        #expect(await iterator.next() == SignalEvent(signal: .sigusr1, count: 1))
        two.cancel()
        try await two.finished()
        #expect(Self.isDefault(SIGUSR1))
    }
    // contract: SignalEvents
    @Test func cancellingDropsTheEventThatWaits() async throws {
        let events = try GCD.signals(.sigusr1)
        let iterator = events.makeAsyncIterator()
        await Self.receive(SIGUSR1)
        await eventually("the event waits") { events.waitingCount == 1 }
        #expect(try await events.finished(timeout: .milliseconds(2)) == false)
        #expect(try await events.finished(timeout: .zero) == false)
        events.cancel()
        #expect(await iterator.next() == nil)
        #expect(try await events.finished(timeout: .zero))
    }
    // contract: SignalEvents
    @Test func aSequenceBeginsWithNothingLeftFromTheOneBefore() async throws {
        for _ in 0..<50 {
            let first = try GCD.signals(.sigusr1)
            await Self.receive(SIGUSR1)
            first.cancel()
            try await first.finished()
            let second = try GCD.signals(.sigusr1, .sigusr2)
            await Self.receive(SIGUSR2)
            #expect(await second.makeAsyncIterator().next()?.signal == .sigusr2)
            try await second.finished()
        }
    }
    // contract: SignalEvents
    @Test func aCancelledLoopHasPutTheSignalBack() async throws {
        let events = try GCD.signals(.sigusr1)
        let kept = events.makeAsyncIterator()
        let task = Task {
            for await _ in events {}
            try await events.finished()
            return Self.isDefault(SIGUSR1)
        }
        task.cancel()
        #expect(try await task.value, "throws unless the end has come")
        #expect(await kept.next() == nil)
        let gaveUp = Task {
            let other = try GCD.signals(.sigusr1)
            await untilCancelled()
            try await other.finished()
        }
        gaveUp.cancel()
        await #expect(throws: CancellationError.self) { try await gaveUp.value }
    }
    // contract: SignalEvents
    @Test func aSequenceThatIsDroppedEnds() async throws {
        do { _ = try GCD.signals(.sigusr1) }
        #expect(Self.isDefault(SIGUSR1), "its handler goes first")
        let iterator = try GCD.signals(.sigusr1).makeAsyncIterator()
        await Self.receive(SIGUSR1)
        #expect(await iterator.next()?.count == 1, "its iterator keeps it")
        do { _ = consume iterator }
        #expect(Self.isDefault(SIGUSR1))
    }
    // contract: GCD, SignalEvent, SignalEvents, UnixSignal
    @Test func whatTheProgramHadInstalledIsPutBackUnlessItHasChangedIt() async throws {
        signal(SIGUSR2, SIG_IGN)
        let events = try GCD.signals(.sigusr2)
        await Self.receive(SIGUSR2)
        #expect(await events.makeAsyncIterator().next()?.count == 1)
        try await events.finished()
        var action = sigaction()
        sigaction(SIGUSR2, nil, &action)
        #expect(unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self) == 1, "ignored")
        let others = try GCD.signals(.sigusr2)
        signal(SIGUSR2, SIG_DFL)
        others.cancel()
        try await others.finished()
        #expect(Self.isDefault(SIGUSR2))
    }
    // contract: GCD, SignalEvent, SignalEvents, UnixSignal
    @Test(.ownThreads) func afterTheEndTheSignalActsAgain() async {
        let result = await #expect(processExitsWith: .signal(SIGTERM), observing: [\.standardErrorContent]) {
            alarm(240)
            let events = try GCD.signals(.sigterm)
            await SignalEventsTests.receive(SIGTERM)
            for await event in events {
                FileHandle.standardError.write(Data("\(event.signal), \(event.count)".utf8))
                break
            }
            await SignalEventsTests.receive(SIGTERM)
            exit(4)
        }
        #expect(sentence(result) == "signal 15 (Terminated), 1")
    }

    // The child of fork has its parent's handlers and pipes.
    // contract: SignalEvents
    @Test(.ownThreads) func aChildOfForkTellsItsParentNothing() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            let events = try GCD.signals(.sigusr1, .sigusr2)
            let forked = await blocking { () -> Int32 in
                // Swift does not offer it.
                typealias Fork = @convention(c) () -> Int32
                let child = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
                if child == 0 {
                    var none = sigset_t()
                    sigemptyset(&none)
                    pthread_sigmask(SIG_SETMASK, &none, nil)
                    raise(SIGUSR1)
                    _exit(0)
                }
                return child
            }
            guard forked > 0, waitpid(forked, nil, 0) == forked else { exit(3) }
            await SignalEventsTests.receive(SIGUSR2)
            let first = await events.makeAsyncIterator().next()
            exit(first == SignalEvent(signal: .sigusr2, count: 1) ? 0 : 4)
        }
    }

    // MARK: Misuse
    // contract: GCD, SignalsUnavailable
    @Test(arguments: [SIGKILL, SIGSTOP, SIGSEGV, SIGABRT, 0, 100, -1])
    func aSignalThatNoProgramReceivesIsReported(number: Int32) {
        #expect(UnixSignal(rawValue: number).refusal != nil)
    }
    // contract: GCD, SignalsUnavailable
    @Test(.ownThreads) func aRefusedSignalEndsTheProcessWithASentence() async {
        let killed = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            _ = try GCD.signals(.sigterm, UnixSignal(rawValue: SIGKILL))
        }
        #expect(
            sentence(killed)
                == "interlock: GCD.signals(signal 9 (Killed)): the system lets no program handle it\n"
        )
        let none = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            _ = try GCD.signals([])
        }
        #expect(sentence(none) == "interlock: GCD.signals(): a sequence for no signal would wait for ever\n")
    }
    // contract: GCD, SignalsUnavailable
    @Test(.ownThreads) func withoutADescriptorNoSignalIsReceived() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            await Task.yield()
            var limit = rlimit(rlim_cur: 3, rlim_max: 3)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            do throws(SignalsUnavailable) {
                _ = try GCD.signals(.sigterm)
                exit(3)
            } catch {
                guard error == SignalsUnavailable(signal: .sigterm, code: EMFILE) else { exit(4) }
                let text = "\(error)"
                guard text == "signal 15 (Terminated) cannot be received: Too many open files" else {
                    exit(5)
                }
                exit(SignalEventsTests.isDefault(SIGTERM) ? 0 : 6)
            }
        }
    }
}
