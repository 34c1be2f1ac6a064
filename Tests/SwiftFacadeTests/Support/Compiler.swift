// SPDX-License-Identifier: Apache-2.0
//
// Running the compiler from a test, on right and wrong programs.

import Foundation
import Testing

/// The compiler that built these tests, on one file that imports the module under test. Waits for it on threads of its
/// own: two tests that held the cooperative pool's would leave the tasks of all others none.
enum Compiler {
    static func compile(
        _ body: String,
        flags: [String] = []
    ) async throws -> (succeeded: Bool, output: String) {
        try await run(body, ["-emit-sil", "-o", "/dev/null"] + flags)
    }

    /// As ``compile(_:flags:)``, on a file that has its own imports.
    static func compileFile(
        _ text: String,
        flags: [String] = []
    ) async throws -> (succeeded: Bool, output: String) {
        try await runSwift(text, ["-emit-sil", "-o", "/dev/null"] + flags)
    }

    /// Builds a whole file with the module's objects, and runs the program; what it prints. For modules without a
    /// sanitizer.
    static func runFile(_ text: String) async throws -> String {
        let program = FileManager.default.temporaryDirectory.appendingPathComponent(
            "interlock-\(UUID().uuidString)"
        )
        defer { try? FileManager.default.removeItem(at: program) }
        var flags = try ["CInterlock", "InterlockSync", "InterlockPool", "InterlockOperations", "Interlock"]
            .flatMap(objects)
        #if os(Linux)
        // The objects name Swift's libraries themselves. On a busy machine the linker was sometimes not given them.
        flags += [
            "bsd", "m", "swiftSwiftOnoneSupport", "swift_Concurrency", "swiftSynchronization", "swiftGlibc",
            "swiftDispatch", "dispatch",
            "BlocksRuntime", "Foundation", "FoundationEssentials",
        ].map { "-l\($0)" }
        #endif
        let built = try await runSwift(text, ["-o", program.path] + flags)
        try #require(built.succeeded, "\(built.output.suffix(4_000))")
        let result = try await run([program.path])
        #expect(result.succeeded, "\(result.output)")
        return result.output
    }

    /// As the tests were linked: a build folder keeps the objects of sources that are gone.
    private static func objects(of module: String) throws -> [String] {
        let list = products.appendingPathComponent("interlockPackageTests.product/Objects.LinkFileList")
        let objects = try String(contentsOf: list, encoding: .utf8).split(separator: "\n").map { line in
            line.trimmingCharacters(in: CharacterSet(charactersIn: "'\""))
        }
        .filter { $0.contains("/\(module).build/") }
        try #require(!objects.isEmpty, "\(list.path) names no object of \(module)")
        return objects
    }

    /// Each name with the declaration that it stands for.
    static func syntaxTree(_ body: String) async throws -> String {
        let result = try await run(body, ["-dump-ast", "-suppress-warnings"])
        try #require(result.succeeded, "\(result.output.suffix(4_000))")
        return result.output
    }

    private static func run(_ body: String, _ mode: [String]) async throws -> (
        succeeded: Bool, output: String
    ) {
        try await runSwift("import Foundation\nimport Interlock\n\(body)\n", mode)
    }

    private static func runSwift(
        _ text: String,
        _ mode: [String]
    ) async throws -> (succeeded: Bool, output: String) {
        try await run(
            text,
            as: "program.swift",
            [
                "swiftc", "-swift-version", "6", "-parse-as-library",
                "-module-cache-path", products.appendingPathComponent("ModuleCache").path,
                "-I", products.appendingPathComponent("Modules").path,
                "-I", root.appendingPathComponent("include").path,
            ] + mode
        )
    }

    /// The toolchain's C compiler, on one file.
    static func compileC(_ text: String) async throws -> (succeeded: Bool, output: String) {
        try await run(
            text,
            as: "program.c",
            [
                "clang", "-std=c11", "-Wall", "-Werror", "-fsyntax-only",
                "-I", root.appendingPathComponent("include").path,
            ]
        )
    }

    /// Runs the command with a file of this text as its last argument.
    private static func run(_ text: String, as name: String, _ command: [String]) async throws
        -> (succeeded: Bool, output: String)
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "interlock-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appendingPathComponent(name)
        try Data(text.utf8).write(to: source)
        // The compiler leaves folders where it keeps temporary files.
        return try await run(["/usr/bin/env", "TMPDIR=\(folder.path)"] + command + [source.path])
    }

    private static func run(_ command: [String]) async throws -> (succeeded: Bool, output: String) {
        try await blocking(named: "compiler") {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: command[0])
            process.arguments = Array(command.dropFirst())
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let said = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus == 0, String(decoding: said, as: UTF8.self))
        }
    }

    /// Where the modules were built: beside the test program.
    static var products: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    }

    static var root: URL {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        return folder
    }
}
