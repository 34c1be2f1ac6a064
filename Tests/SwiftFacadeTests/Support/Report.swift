// SPDX-License-Identifier: Apache-2.0
//
// What a process wrote to standard error before it ended, for tests of misuse, and tables of such tests.

import Testing

extension ExitTest.Result {
    /// The last thing written to standard error.
    var report: String {
        String(decoding: standardErrorContent, as: UTF8.self)
    }
}

/// A program that must end with a report: a row of a table. An exit test takes no closure, but the index of a row.
struct Misuse: Sendable {
    private let words: [String]
    let program: @Sendable () async throws -> Void

    /// - Parameter words: What the report must contain, each.
    init(_ words: String..., program: @escaping @Sendable () throws -> Void) {
        self.words = words
        self.program = program
    }

    private init(words: [String], inTask program: @escaping @Sendable () async throws -> Void) {
        self.words = words
        self.program = program
    }

    /// A program that suspends.
    static func inTask(_ words: String..., program: @escaping @Sendable () async throws -> Void) -> Misuse {
        Misuse(words: words, inTask: program)
    }

    func expectReport(_ result: ExitTest.Result?, _ location: SourceLocation = #_sourceLocation) {
        let report = result?.report ?? "no report"
        for words in words { #expect(report.contains(words), "\(report)", sourceLocation: location) }
    }
}
