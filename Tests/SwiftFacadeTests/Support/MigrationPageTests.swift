// SPDX-License-Identifier: Apache-2.0
//
// The Swift blocks of docs/migration-operations.md compile, each in a function of its own.

import Foundation
import Testing

@Suite struct MigrationPageTests {
    private static let prelude = """
        let url = URL(fileURLWithPath: "/")
        let operations = OperationQueue()
        struct Request: Sendable {
            init(_ url: URL) {}
            func send(_ done: @escaping @Sendable (Int) -> Void) {}
            func stop() {}
        }
        func fetch(_ url: URL, _ done: @escaping @Sendable (Data?, (any Error)?) -> Void) {}
        func send(_ url: URL) async throws -> Int { 1 }
        func isOnline() -> Bool { true }
        """

    /// The blocks of the text, each with the line it begins in.
    private static func blocks(of text: String) -> [(line: Int, code: String)] {
        var blocks: [(line: Int, code: String)] = []
        var open: (line: Int, code: String)?
        for (number, line) in text.components(separatedBy: "\n").enumerated() {
            if let block = open {
                if line == "```" {
                    blocks.append(block)
                    open = nil
                } else {
                    open = (block.line, block.code + line + "\n")
                }
            } else if line == "```swift" {
                open = (number + 2, "")
            }
        }
        return blocks
    }

    @Test func theBlocksOfTheMigrationPageCompile() async throws {
        let page = Compiler.root.appendingPathComponent("docs/migration-operations.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let blocks = Self.blocks(of: text)
        #expect(blocks.count >= 10, "the blocks are found")
        let functions = blocks.enumerated().map { number, block in
            """
            func block\(number)() async throws {
            #sourceLocation(file: "migration-operations.md", line: \(block.line))
            \(block.code)
            #sourceLocation()
            }
            """
        }
        let result = try await Compiler.compile(Self.prelude + "\n" + functions.joined(separator: "\n"))
        #expect(result.succeeded, "\(result.output)")
    }
}
