// SPDX-License-Identifier: Apache-2.0
//
// What a process wrote to standard error before it ended, for tests of misuse, and tables of such tests.

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
