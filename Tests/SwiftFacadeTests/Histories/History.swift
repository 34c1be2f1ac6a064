// SPDX-License-Identifier: Apache-2.0
//
// Histories of real threads. Calls are recorded with their answers and times; then a search looks for an order of them
// that respects time and in which a sequential model gives the same answers: linearisability. The search is Wing and
// Gong's ("Testing and verifying concurrent objects", 1993), with Lowe's memory of visited states (2017).
//
// Threads play windows of a few calls on one object. They begin a window together and share only the object inside it:
// each records into a buffer of its own, for a shared word would order them. Between windows one thread sets the
// object's state, and reads it at the end: the order that is looked for ends in it.
//
//     INTERLOCK_FUZZ_SECONDS   budget of each history; 1 if unset

import Foundation
import Synchronization
import Testing

/// A call and when it ran. Calls of equal time overlap.
struct RecordedCall<Call: Sendable>: Sendable {
    let thread: Int
    let call: Call
    let answer: Int?
    let called: UInt64
    let returned: UInt64
}

/// The time. What stands before it in the program is visible to every thread, and what stands behind it has not begun.
/// No thread sees this clock run backwards.
func moment() -> UInt64 {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Keeps the thread busy for so many times the time of reading the clock.
func spend(_ count: Int) {
    for _ in 0..<count { _ = moment() }
}

/// An object under test, and its sequential model.
protocol HistorySubject: Sendable {
    associatedtype Call: Sendable
    associatedtype State: Hashable & Sendable

    /// At the beginning of each window.
    var start: State { get }
    /// Set and read between windows.
    var state: State { get nonmutating set }
    func makeCall(using random: inout SplitMix) -> Call
    /// Makes the call, and records it.
    func play(_ call: Call, _ record: CallRecord<Self>)
    /// Makes the call on the model; false: the model would give another answer.
    func apply(_ call: Call, _ answer: Int?, to state: inout State) -> Bool
}

/// What one thread calls.
// Used by one thread, and read after its end.
final class CallRecord<Subject: HistorySubject>: @unchecked Sendable {
    private let thread: Int
    fileprivate var windows: [[RecordedCall<Subject.Call>]] = []
    /// The states after the windows, where this thread reads them.
    fileprivate var ends: [Subject.State] = []

    fileprivate init(thread: Int) { self.thread = thread }

    func add(_ call: Subject.Call, _ answer: Int?, called: UInt64, returned: UInt64) {
        windows[windows.count - 1].append(
            RecordedCall(thread: thread, call: call, answer: answer, called: called, returned: returned)
        )
    }
}

/// The search for an order of at most 64 calls.
struct HistoryChecker<Subject: HistorySubject> {
    private struct Visit: Hashable {
        let placed: UInt64
        let state: Subject.State
    }

    private let subject: Subject
    private let calls: [RecordedCall<Subject.Call>]
    private let end: Subject.State
    private var visited: Set<Visit> = []
    /// The longest order that was found.
    private var longest: UInt64 = 0

    init(_ subject: Subject, _ calls: [RecordedCall<Subject.Call>], to end: Subject.State) {
        precondition(calls.count <= 64)
        self.subject = subject
        self.calls = calls.sorted { $0.called < $1.called }
        self.end = end
    }

    mutating func fits(from state: Subject.State, placed: UInt64 = 0) -> Bool {
        guard visited.insert(Visit(placed: placed, state: state)).inserted else { return false }
        if placed.nonzeroBitCount > longest.nonzeroBitCount { longest = placed }
        if placed.nonzeroBitCount == calls.count { return state == end }
        // A call may be next if no other has returned before it.
        var earliestReturn = UInt64.max
        for (index, call) in calls.enumerated() where placed & 1 << index == 0 {
            if call.called > earliestReturn { break }
            earliestReturn = min(earliestReturn, call.returned)
            var next = state
            if subject.apply(call.call, call.answer, to: &next), fits(from: next, placed: placed | 1 << index)
            {
                return true
            }
        }
        return false
    }

    var overlapping: Int {
        calls.count { call in
            calls.contains {
                $0.thread != call.thread && $0.called <= call.returned && call.called <= $0.returned
            }
        }
    }

    var report: String {
        let lines = calls.enumerated().map { index, call in
            "thread \(call.thread)  \(call.call) = \(call.answer.map { "\($0)" } ?? "nil")  "
                + "\(call.called - calls[0].called) to \(call.returned - calls[0].called)"
                + (longest & 1 << index == 0 ? "  not placed" : "")
        }
        return "no order from \(subject.start) to \(end):\n" + lines.joined(separator: "\n")
    }
}

/// As many as run at the same time.
private let threads = min(4, max(2, ProcessInfo.processInfo.activeProcessorCount))

var historyBudget: Duration { .seconds(Int(number("INTERLOCK_FUZZ_SECONDS") ?? 1)) }

/// Plays windows, of which each has calls for each thread.
private func play<Subject: HistorySubject>(
    _ windows: [[[Subject.Call]]],
    on subject: Subject
) -> [CallRecord<Subject>] {
    let records = (0..<threads).map { CallRecord<Subject>(thread: $0) }
    let meeting = Meeting()
    onThreads(threads) { thread in
        pinThread(thread)
        let record = records[thread]
        for (index, calls) in windows.enumerated() {
            if thread == 0 { subject.state = subject.start }
            record.windows.append([])
            record.windows[index].reserveCapacity(2 * calls[thread].count)
            meeting.wait(for: (2 * index + 1) * threads)
            for call in calls[thread] { subject.play(call, record) }
            meeting.wait(for: (2 * index + 2) * threads)
            if thread == 0 { record.ends.append(subject.state) }
        }
    }
    return records
}

/// Records windows and checks them until the budget is used up.
func checkHistories<Subject: HistorySubject>(_ name: String, of subject: Subject) {
    var random = SplitMix(state: moment())
    let start = ContinuousClock.now
    var (calls, overlapping) = (0, 0)
    var budget: Duration
    repeat {
        let windows = (0..<64).map { _ in
            (0..<threads).map { _ in (0..<6).map { _ in subject.makeCall(using: &random) } }
        }
        let records = play(windows, on: subject)
        for index in windows.indices {
            let recorded = records.flatMap { $0.windows[index] }
            var checker = HistoryChecker(subject, recorded, to: records[0].ends[index])
            calls += recorded.count
            overlapping += checker.overlapping
            guard checker.fits(from: subject.start) else {
                Issue.record("history \(name), within \(calls) calls: \(checker.report)")
                return
            }
        }
        // On a busy machine the threads may take turns for long, which says little.
        budget = overlapping < 200 ? historyBudget * 10 : historyBudget
    } while ContinuousClock.now - start < budget
    let time = ContinuousClock.now - start
    print("history \(name): \(calls) calls of \(threads) threads, \(overlapping) overlap another, \(time)")
}
