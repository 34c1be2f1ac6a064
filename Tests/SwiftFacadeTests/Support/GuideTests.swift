// SPDX-License-Identifier: Apache-2.0
//
// The guide in Sources/SwiftFacade/Interlock/Interlock.docc and the papers of docs/: their Swift compiles, and the
// landing page has every public type. Links and pictures are checked by docc (scripts/docs).
//
// A block of an article or a paper is the body of a function over the declarations below. A block with an import is a
// file of its own, and so is each code file of a tutorial.

import Foundation
import Testing

@Suite struct GuideTests {
    private static let prelude = """
        import CInterlock
        import Synchronization
        struct Work: Sendable { func run() {} }
        struct Frame: Sendable {}
        struct Request: Sendable {
            init(_ url: URL) {}
            func send(_ done: @escaping @Sendable (Int) -> Void) {}
            func stop() {}
        }
        let url = URL(fileURLWithPath: "/"), urls = [url]
        let queue = SafeArray<Work>()
        let accounts = ReadWriteLock<[String: Int]>([:]), totals = ReadWriteLock<[String: Int]>([:])
        let from = "", to = "", amount = 1, count = 1
        let ring = try! MPMCRing<Int>(capacity: 1)
        let operations = OperationQueue()
        func render(_ url: URL) -> Data { Data() }
        func load(_ url: URL) throws -> Data { Data() }
        func download(_ url: URL) async throws -> Data { Data() }
        func fetch(_ url: URL, _ done: @escaping @Sendable (Data?, (any Error)?) -> Void) {}
        func send(_ url: URL) async throws -> Int { 1 }
        func isOnline() -> Bool { true }
        func show(_ data: Data) {}
        func work(_ job: Work) {}
        func blockingRead(_ url: URL) throws -> Data { Data() }
        func measure(_ body: () -> Void) -> Duration { ContinuousClock().measure(body) }
        """

    struct Block: Sendable {
        let file: String
        let line: Int
        let code: String

        var isFile: Bool { code.hasPrefix("import ") || code.contains("\nimport ") }
        /// A wait that is not in an inner closure.
        var isAsync: Bool {
            code.split(separator: "\n").contains { $0.contains("await ") && !$0.hasPrefix("    ") }
        }
    }

    private static let strict = ["-warnings-as-errors"]
    static let catalogue = Compiler.root.appendingPathComponent(
        "Sources/SwiftFacade/Interlock/Interlock.docc"
    )

    static func files(_ kind: String, below folder: URL = catalogue) -> [URL] {
        (FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? [])
            .compactMap { $0 as? URL }
            .filter { $0.pathExtension == kind }
            .sorted { $0.path < $1.path }
    }

    private static let papers =
        ((try? FileManager.default.contentsOfDirectory(
            at: Compiler.root.appendingPathComponent("docs"),
            includingPropertiesForKeys: nil
        )) ?? []).filter { $0.pathExtension == "md" }.sorted { $0.path < $1.path }

    static let codeFiles = files("swift").map(\.lastPathComponent)

    private static func blocks(of file: URL, in language: String = "swift") throws -> [Block] {
        var blocks: [Block] = []
        var open: Block?
        for (number, line) in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
            .enumerated()
        {
            if let block = open {
                if line == "```" {
                    blocks.append(block)
                    open = nil
                } else {
                    open = Block(file: block.file, line: block.line, code: block.code + line + "\n")
                }
            } else if line == "```\(language)" {
                open = Block(file: file.lastPathComponent, line: number + 2, code: "")
            }
        }
        return blocks
    }

    private static func code(of name: String) throws -> String {
        let file = try #require(files("swift").first { $0.lastPathComponent == name })
        return try String(contentsOf: file, encoding: .utf8)
    }

    private static func located(_ block: Block) -> String {
        "#sourceLocation(file: \"\(block.file)\", line: \(block.line))\n\(block.code)#sourceLocation()"
    }

    @Test func theFragmentsOfTheArticlesCompile() async throws {
        let files = Self.files("md") + Self.papers
        let fragments = try files.flatMap { try Self.blocks(of: $0) }.filter { !$0.isFile }
        #expect(fragments.count >= 25, "the blocks are found")
        #expect(fragments.contains { $0.file == "diagnosis.md" }, "those of the papers, too")
        let functions = fragments.enumerated().map { number, block in
            "func block\(number)() \(block.isAsync ? "async " : "")throws {\ndo {\n\(Self.located(block))\n}\n}"
        }
        let text = Self.prelude + "\n" + functions.joined(separator: "\n")
        let result = try await Compiler.compile(text, flags: Self.strict)
        #expect(result.succeeded, "\(result.output)")
    }

    @Test func theProgramsOfTheArticlesCompile() async throws {
        let programs = try Self.files("md").flatMap { try Self.blocks(of: $0) }.filter(\.isFile)
        #expect(!programs.isEmpty, "the programs are found")
        for program in programs {
            let result = try await Compiler.compileFile(Self.located(program), flags: Self.strict)
            #expect(result.succeeded, "\(result.output)")
        }
    }

    @Test func theCBlocksOfTheArticlesCompile() async throws {
        let blocks = try Self.files("md").flatMap { try Self.blocks(of: $0, in: "c") }
        #expect(!blocks.isEmpty, "the blocks are found")
        for block in blocks {
            let result = try await Compiler.compileC("#line \(block.line) \"\(block.file)\"\n\(block.code)")
            #expect(result.succeeded, "\(result.output)")
        }
    }

    @Test(.serialized, arguments: codeFiles) func aCodeFileOfATutorialCompiles(name: String) async throws {
        let result = try await Compiler.compileFile(Self.code(of: name), flags: Self.strict)
        #expect(result.succeeded, "\(result.output)")
    }

    private static let runsPrograms = underThreadSanitizer(false, instead: true)

    @Test(
        .enabled(if: runsPrograms, "its runtime would have to be linked"),
        arguments: [
            ("SalesCache-6.swift", "100 answers, 3 computations\n"),
            ("Photos-4.swift", "20 written, rejected: [\"photo-0.grey\"]\n"),
            ("Photos-7.swift", "20 written, rejected: [\"photo-0.grey\"]\n20 sent, 200020 bytes\n"),
        ]
    )
    func aProgramOfATutorialPrintsWhatItsStepSays(name: String, printed: String) async throws {
        #expect(try await Compiler.runFile(Self.code(of: name)) == printed)
    }

    @Test(.enabled(if: runsPrograms, "its runtime would have to be linked"))
    func whatTheListenerLosesAndReceivesIsAll() async throws {
        let program = try #require(
            Self.files("md").flatMap { try Self.blocks(of: $0) }.first {
                $0.isFile && $0.code.contains("Listen")
            }
        )
        let counts = try await Compiler.runFile(program.code).split(whereSeparator: { !$0.isNumber })
            .compactMap {
                Int($0)
            }
        #expect(counts.count == 2)
        #expect(counts.reduce(0, +) == 1_000)
    }

    @Test func theFirstClassOfATutorialIsNotSharedAndTheSecondIs() async throws {
        let sharing =
            "func share(_ averages: Averages) { Task { _ = try averages.average(of: SalesData(revenue: [1])) } }"
        let first = try await Compiler.compileFile(Self.code(of: "SalesCache-1.swift") + sharing)
        #expect(!first.succeeded, "compiled, and must not")
        #expect(first.output.contains("risks causing data races"), "\(first.output)")
        let second = try await Compiler.compileFile(Self.code(of: "SalesCache-2.swift") + sharing)
        #expect(second.succeeded, "\(second.output)")
    }

    @Test func everyCodeFileIsAStepOfATutorial() throws {
        #expect(Self.codeFiles.count >= 8, "the code files are found")
        let tutorials = try Self.files("tutorial").map { try String(contentsOf: $0, encoding: .utf8) }
            .joined()
        for name in Self.codeFiles {
            #expect(tutorials.contains("file: \"\(name)\""), "no tutorial shows \(name)")
        }
    }

    @Test func theLandingPageHasEveryPublicType() async throws {
        let page = try String(
            contentsOf: Self.catalogue.appendingPathComponent("Interlock.md"),
            encoding: .utf8
        )
        let topics = try #require(page.range(of: "\n## Topics\n")).upperBound
        let listed = Set(page[topics...].split(separator: "\n").filter { $0.hasPrefix("- ``") })
        let symbols = try await PublicInterface.symbols()
        let names = Set(symbols.filter { $0.path.count == 1 && $0.place != nil }.map(\.name))
        #expect(names.count > 80, "the types are found")
        for name in names.sorted() {
            #expect(
                listed.contains { $0.hasPrefix("- ``\(name)``") || $0.hasPrefix("- ``\(name)-") },
                "\(name)"
            )
        }
    }
}
