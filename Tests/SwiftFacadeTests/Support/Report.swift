// SPDX-License-Identifier: Apache-2.0
//
// What a process wrote to standard error before it ended, for tests of misuse; tables of such tests; and where a test
// waits for a process.

import Foundation
import Testing

extension ExitTest.Result {
    /// The last thing written to standard error.
    var report: String {
        String(decoding: standardErrorContent, as: UTF8.self)
    }
}

/// A program that must end with a report: a row of a table. An exit test takes no closure, but the row's index or name.
struct Misuse: Sendable {
    let name: String
    private let words: [String]
    let program: @Sendable () async throws -> Void

    private init(_ name: String, _ words: [String], _ program: @escaping @Sendable () async throws -> Void) {
        (self.name, self.words, self.program) = (name, words, program)
    }

    /// - Parameter words: What the report must contain, each.
    init(_ words: String..., program: @escaping @Sendable () throws -> Void) {
        self.init(words.first ?? "", words, program)
    }

    /// A program that suspends.
    static func inTask(_ words: String..., program: @escaping @Sendable () async throws -> Void) -> Misuse {
        Misuse(words.first ?? "", words, program)
    }

    /// A row with a name of its own.
    static func named(
        _ name: String,
        _ words: String...,
        program: @escaping @Sendable () async throws -> Void
    ) -> Misuse {
        Misuse(name, words, program)
    }

    /// In the child. What the program starts on other threads has a minute; an alarm ends a hang.
    func happen() async throws {
        alarm(240)
        try await program()
        try await Task.sleep(for: .seconds(60))
    }

    func expectReport(_ result: ExitTest.Result?, _ location: SourceLocation = #_sourceLocation) {
        let report = result?.report ?? "no report"
        for words in words { #expect(report.contains(words), "\(report)", sourceLocation: location) }
    }
}

extension [Misuse] {
    subscript(name: String) -> Misuse { first { $0.name == name }! }
}

/// For a test that waits for a child process. Swift Testing reads what a child writes, and its issues, in two tasks of
/// the test that block their threads until the child has ended. On the cooperative pool, which has a thread for each
/// processor, no other test would go on for as long as a child takes to load.
struct OwnThreads: TestTrait, TestScoping {
    func provideScope(
        for _: Test,
        testCase _: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadPerJob.shared) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    static var ownThreads: Self { Self() }
}

/// Runs each job on a thread of its own.
private final class ThreadPerJob: TaskExecutor {
    static let shared = ThreadPerJob()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
