// SPDX-License-Identifier: Apache-2.0
//
// The compiled module's public symbols: all are documented, and the shared collections have the standard library's
// vocabulary.

import Foundation
import Testing
// contract: SafeArray, SafeDictionary, SafeSet
@Suite struct PublicInterfaceTests {
    @Test func everyPublicSymbolIsDocumented() async throws {
        let symbols = try await PublicInterface.symbols()
        // Inherited members are documented in their protocols; the compiler writes what has no place.
        let own = symbols.filter { !$0.isInherited && $0.place != nil }
        #expect(own.count > 400, "the symbols are found")
        for symbol in own where symbol.documentation.isEmpty {
            Issue.record("\(symbol.name) is not documented: \(symbol.place!)")
        }
    }

    /// That the test above can fail.
    @Test func anUndocumentedSymbolIsFound() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "interlock-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appendingPathComponent("Planted.swift")
        try Data("/// Said.\npublic func said() {}\npublic func silent() {}\n".utf8).write(to: source)
        try PublicInterface.run([
            "swiftc", "-parse-as-library", "-emit-module", "-module-name", "Planted", "-o",
            folder.appendingPathComponent("Planted.swiftmodule").path, source.path,
        ])
        let symbols = try await PublicInterface.symbols(of: "Planted", modulesIn: [folder])
        #expect(symbols.filter { $0.documentation.isEmpty && $0.place != nil }.map(\.name) == ["silent()"])
    }

    /// What the shared collections leave out, by reason.
    static let leftOut: [String: [String]] = [
        "indices of one state mean something else after the next write; `for` and `map` go over a snapshot": [
            "startIndex", "endIndex", "indices", "index(after:)", "index(before:)", "index(_:offsetBy:)",
            "index(_:offsetBy:limitedBy:)", "index(forKey:)", "formIndex(after:)", "formIndex(before:)",
            "formIndex(_:offsetBy:)", "formIndex(_:offsetBy:limitedBy:)", "distance(from:to:)",
        ],
        "pointers and spans must not outlive the lock: `withReadLock` and `withWriteLock` give the array itself":
            [
                "span", "mutableSpan", "withUnsafeBufferPointer(_:)", "withUnsafeMutableBufferPointer(_:)",
                "withUnsafeBytes(_:)", "withUnsafeMutableBytes(_:)",
                "withContiguousMutableStorageIfAvailable(_:)",
                "init(unsafeUninitializedCapacity:initializingWith:)", "init(capacity:initializingWith:)",
                "append(addingCapacity:initializingWith:)",
            ],
        "a mutable reference is no key by its contents, and equal at no one moment: compare snapshots": [
            "==(_:_:)", "!=(_:_:)", "hash(into:)", "hashValue",
        ],
        "is written as a subscript: `array[..<end]`, `array[...last]`, `array[start...]`": [
            "prefix(upTo:)", "prefix(through:)", "suffix(from:)",
        ],
        "makes a new array of several, none of which is shared: ask the snapshot": [
            "+(_:_:)", "applying(_:)", "difference(from:)", "difference(from:by:)", "removingSubranges(_:)",
        ],
    ]
    /// The same for dictionaries and sets, which have no order.
    static let leftOutUnordered: [String: [String]] = [
        "goes by the indices of one state": [
            "remove(at:)", "firstIndex(where:)", "firstIndex(of:)", "indices(where:)", "indices(of:)",
            "subscript(_:)",
        ]
    ]
    /// What one of them leaves out, since it only makes a copy: `snapshot` gives the model, which has it.
    static let leftOutByType: [String: [String]] = [
        "SafeArray": ["randomElement(using:)"],
        "SafeDictionary": [
            "compactMapValues(_:)", "mapValues(_:)", "merging(_:uniquingKeysWith:)", "randomElement(using:)",
        ],
        "SafeSet": [
            "intersection(_:)", "randomElement(using:)", "subtracting(_:)", "symmetricDifference(_:)",
            "union(_:)",
        ],
    ]

    @Test(arguments: [("Array", "SafeArray"), ("Dictionary", "SafeDictionary"), ("Set", "SafeSet")])
    func aSharedCollectionHasTheVocabularyOfItsModel(model: String, shared: String) async throws {
        let facade = try await PublicInterface.symbols()
        let ours = Set(facade.filter { $0.type == shared }.map(\.name))
        let theirs = Set(
            try await PublicInterface.standardLibrary.value
                .filter { $0.type == model && $0.isOffered && !$0.isType }.map(\.name)
        )
        #expect(theirs.count > 80, "the vocabulary is found")
        var excused = Set(Self.leftOut.values.joined())
        if model != "Array" { excused.formUnion(Self.leftOutUnordered.values.joined()) }
        let own = try #require(Self.leftOutByType[shared])
        #expect(ours.isDisjoint(with: own) && theirs.isSuperset(of: own), "\(own) are there, or are none")
        excused.formUnion(own)
        let missing = theirs.subtracting(ours).subtracting(excused)
        #expect(missing.isEmpty, "\(shared) lacks \(missing.sorted())")
        if model == "Array" {
            let stale = Set(Self.leftOut.values.joined()).intersection(ours)
            #expect(stale.isEmpty, "\(stale.sorted()) are there after all")
        }
    }
}

/// As the compiler lists them for documentation.
enum PublicInterface {
    struct Symbol: Decodable {
        let path: [String]
        let documentation: [String]
        let place: String?
        let isInherited: Bool
        /// Not deprecated or unavailable.
        let isOffered: Bool
        let isType: Bool

        var name: String { path.last ?? "" }
        var type: String? { path.count == 2 ? path[0] : nil }

        private enum Key: String, CodingKey {
            case pathComponents, docComment, location, identifier, availability, kind
        }
        private struct Comment: Decodable {
            struct Line: Decodable { let text: String }
            let lines: [Line]
        }
        private struct Location: Decodable {
            struct Position: Decodable { let line: Int }
            let uri: String
            let position: Position
        }
        private struct Identifier: Decodable { let precise: String }
        private struct Kind: Decodable { let identifier: String }
        private struct Availability: Decodable {
            struct Version: Decodable {}
            let isUnconditionallyDeprecated: Bool?
            let isUnconditionallyUnavailable: Bool?
            let deprecated: Version?
            let obsoleted: Version?
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            path = try values.decode([String].self, forKey: .pathComponents)
            documentation =
                try values.decodeIfPresent(Comment.self, forKey: .docComment)?.lines.map(\.text)
                .filter { !$0.isEmpty } ?? []
            place = try values.decodeIfPresent(Location.self, forKey: .location).map {
                "\($0.uri):\($0.position.line + 1)"
            }
            isInherited = try values.decode(Identifier.self, forKey: .identifier).precise
                .contains("::SYNTHESIZED::")
            isType = ["swift.struct", "swift.enum", "swift.class", "swift.typealias"]
                .contains(try values.decode(Kind.self, forKey: .kind).identifier)
            isOffered =
                try values.decodeIfPresent([Availability].self, forKey: .availability)?
                .allSatisfy {
                    $0.isUnconditionallyDeprecated != true && $0.isUnconditionallyUnavailable != true
                        && $0.deprecated == nil && $0.obsoleted == nil
                } ?? true
        }
    }

    /// Read once: it is large.
    static let standardLibrary = Task { try await symbols(of: "Swift", modulesIn: []) }

    /// Waits for the compiler on a thread of its own, as `Compiler` does.
    static func symbols(
        of module: String = "Interlock",
        modulesIn folders: [URL] = [
            Compiler.products.appendingPathComponent("Modules"),
            Compiler.root.appendingPathComponent("include"),
        ]
    ) async throws -> [Symbol] {
        try await blocking(named: "symbols") { try extract(module, folders) }
    }

    private static func extract(_ module: String, _ folders: [URL]) throws -> [Symbol] {
        struct Graph: Decodable { let symbols: [Symbol] }
        struct TargetInfo: Decodable {
            struct Target: Decodable { let unversionedTriple: String }
            let target: Target
        }
        let output = FileManager.default.temporaryDirectory.appendingPathComponent(
            "interlock-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: output) }
        let target = try JSONDecoder().decode(
            TargetInfo.self,
            from: run(["swiftc", "-print-target-info"])
        ).target.unversionedTriple
        try run(
            [
                "swift", "symbolgraph-extract", "-module-name", module, "-target", target,
                "-minimum-access-level", "public", "-output-dir", output.path,
                "-experimental-allowed-reexported-modules=InterlockSync,InterlockPool,InterlockOperations",
                "-module-cache-path", Compiler.products.appendingPathComponent("ModuleCache").path,
            ] + folders.flatMap { ["-I", $0.path] }
        )
        return try FileManager.default.contentsOfDirectory(at: output, includingPropertiesForKeys: nil)
            // What the module adds to others is in files of their own, "Interlock@Dispatch".
            .filter { $0.lastPathComponent.hasPrefix(module) }
            .flatMap { try JSONDecoder().decode(Graph.self, from: Data(contentsOf: $0)).symbols }
    }

    @discardableResult
    static func run(_ arguments: [String]) throws -> Data {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments)")
        return said
    }
}
