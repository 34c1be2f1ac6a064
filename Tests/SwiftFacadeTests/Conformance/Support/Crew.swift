// SPDX-License-Identifier: Apache-2.0
//
// Threads for tests: started together, joined with a time limit, their errors brought back.
//
// Tests of locks block, and the pools of Swift and libdispatch have a thread a processor. So each role gets a thread of
// its own, and the test only suspends. A thread does not carry the current test: a role throws, and the error is
// rethrown where the test waits.

import Foundation
import Synchronization
import Testing

/// A claim that did not hold, and what was seen instead.
struct Broken: Error, CustomStringConvertible {
    let description: String
}

/// Throws if `condition` does not hold: `#expect` for a thread of a crew.
func ensure(_ condition: Bool, _ claim: @autoclosure () -> String) throws {
    if !condition { throw Broken(description: claim()) }
}

/// Far more than any test needs under ThreadSanitizer on a loaded machine.
let hangLimit = Duration.seconds(240)

/// A deadline that only a hang reaches.
var farDeadline: ContinuousClock.Instant { .now + .seconds(60) }

/// Yields until `condition` holds: the handshake for states that show only in what they refuse (a queued writer in a
/// failed try). Throws after a far deadline.
func waitUntil(_ what: String, _ condition: () throws -> Bool) throws {
    let deadline = farDeadline
    while try !condition() {
        if ContinuousClock.now > deadline { throw Broken(description: "never happened: \(what)") }
        Thread.yield()
    }
}

/// Threads, each with a role, that start together.
final class Crew {
    private var roles: [(name: String, body: @Sendable () throws -> Void)] = []
    private var endings: [() -> Void] = []

    func add(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
        roles.append((name, body))
    }

    func add(_ name: String, count: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
        for index in 0..<count { add("\(name) \(index)") { try body(index) } }
    }

    /// Done when all have ended or one has failed, such as closing a ring that the others wait for.
    func whenOver(_ ending: @escaping () -> Void) {
        endings.append(ending)
    }

    /// Runs every role on a thread of its own; returns when all are done. Throws the first error; or, after
    /// `hangLimit`, an error that names the threads still running, which are left behind.
    func run() async throws {
        let roster = Roster(count: roles.count)
        for (index, role) in roles.enumerated() {
            let thread = Thread {
                roster.startTogether()
                do {
                    try role.body()
                    roster.finished(index, nil)
                } catch {
                    roster.finished(index, Broken(description: "\(role.name): \(error)"))
                }
            }
            thread.name = role.name
            thread.start()
        }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                roster.waitForAll()
                continuation.resume()
            }
        }
        for ending in endings { ending() }
        let (running, errors) = roster.state
        if let first = errors.first { throw first }
        if !running.isEmpty {
            let names = running.sorted().map { roles[$0].name }.joined(separator: ", ")
            throw Broken(description: "still running after \(hangLimit): \(names)")
        }
    }
}

/// For tests with a single role that may block.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    let crew = Crew()
    crew.add("test", body)
    try await crew.run()
}

/// Which members have started and which have finished.
// @unchecked: every field is touched under `condition` only.
private final class Roster: @unchecked Sendable {
    private let condition = NSCondition()
    private var toStart: Int
    private var running: Set<Int>
    private var errors: [Broken] = []

    init(count: Int) {
        toStart = count
        running = Set(0..<count)
    }

    func startTogether() {
        condition.lock()
        toStart -= 1
        if toStart == 0 { condition.broadcast() }
        while toStart > 0 { condition.wait() }
        condition.unlock()
    }

    func finished(_ index: Int, _ error: Broken?) {
        condition.lock()
        running.remove(index)
        if let error { errors.append(error) }
        condition.broadcast()
        condition.unlock()
    }

    /// Returns when all have finished, one has failed (the others may wait for it), or the limit has passed.
    func waitForAll() {
        let limit = Date(timeIntervalSinceNow: TimeInterval(hangLimit.components.seconds))
        condition.lock()
        while !running.isEmpty && errors.isEmpty && condition.wait(until: limit) {}
        condition.unlock()
    }

    var state: (running: Set<Int>, errors: [Broken]) {
        condition.lock()
        defer { condition.unlock() }
        return (running, errors)
    }
}

extension Thread {
    /// Lets another thread run.
    static func yield() { sched_yield() }
}

/// A lock that is no subject of these tests and visible to ThreadSanitizer.
// @unchecked: the value is touched under `lock` only.
final class UnfairPlainLock<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
