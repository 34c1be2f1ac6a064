// SPDX-License-Identifier: Apache-2.0
//
// Every example in the facade's comments compiles: read from the sources, over the declarations below. The articles'
// are in GuideTests.swift.

import Foundation
import Testing

@Suite struct DocumentationExampleTests {
    struct Example {
        let place: String
        let lines: [String]
    }

    static let prelude = """
        struct Photo: Sendable {}
        struct Frame: Sendable {}
        struct Job: Sendable {}
        struct Image: Sendable {}
        struct Session: Sendable { init(_ user: String) {} }
        struct Worker: Sendable { func start(_ body: @escaping @Sendable () -> Void) {} }
        struct Source { func next() -> Int? { nil } }
        let url = URL(fileURLWithPath: "/")
        let urls = [url]
        let levels = PriorityInheritingMutex<[Int]>([]), level = 1
        let path = "", name = "", user = "", from = "", to = "", amount = 1
        let workers = [Worker()], source = Source(), job = Job()
        let images = SafeDictionary<String, Image>()
        let queue = SafeArray<Job>()
        let accounts = ReadWriteLock<[String: Int]>([:])
        let sessions = ReadWriteLock<[String: Session]>([:])
        let jobs = try! MPMCRing<Job>(capacity: 1)
        func handle(_ job: Job) async {}
        func decode(_ name: String) -> Image { Image() }
        func render(_ url: URL) async throws -> Image { Image() }
        func crawl(_ url: URL) {}
        func fetch(_ url: URL) async throws {}
        let operations = OperationQueue()
        func fetch(_ url: URL, _ done: @escaping @Sendable (Data?, (any Error)?) -> Void) {}
        func capture() -> Frame? { nil }
        func show(_ frame: Frame) {}
        func run(_ job: Job) {}
        func work(_ job: Job) {}
        func refuse(_ job: Job) {}
        func computeMyPart(of generation: Int) {}
        func exchangeBuffers() {}
        struct Page: Sendable {
            init(_ head: Photo, _ body: Photo) {}
            init(_ text: String, _ pictures: [Photo]) {}
        }
        let page = AsyncOperation<Data>(name: "page") { Data() }
        let text = AsyncOperation(name: "text") { "" }, pictures = AsyncOperation(name: "pictures") { [Photo()] }
        func load(_ url: URL) async throws -> Photo { Photo() }
        let descriptor: Int32 = 0
        func find(_ text: String) {}
        """

    /// The blocks fenced as Swift in comments.
    static func examples() throws -> [Example] {
        let facade = Compiler.root.appendingPathComponent("Sources/SwiftFacade")
        var examples: [Example] = []
        for file in GuideTests.files("swift", below: facade) where !file.path.contains(".docc/") {
            var block: Example?
            for (number, line) in try String(contentsOf: file, encoding: .utf8)
                .components(separatedBy: "\n").enumerated()
            {
                var text = line.drop { $0 == " " }
                guard text.hasPrefix("///") else { continue }
                text = text.dropFirst(text.hasPrefix("/// ") ? 4 : 3)
                if let open = block {
                    if text.hasPrefix("```") {
                        examples.append(open)
                        block = nil
                    } else {
                        block = Example(place: open.place, lines: open.lines + [String(text)])
                    }
                } else if text.hasPrefix("```swift") {
                    block = Example(place: "\(file.lastPathComponent):\(number + 1)", lines: [])
                }
            }
        }
        return examples
    }

    @Test func everyExampleCompiles() async throws {
        let examples = try Self.examples()
        #expect(examples.count >= 21, "examples are found")
        let functions = examples.enumerated().map { number, example in
            """
            // \(example.place)
            func example\(number)(
                _ group: inout ThrowingTaskGroup<Void, any Error>, _ ring: consuming SPSCRing<Frame>,
                _ producer: inout SPSCRing<Int>.Producer, _ consumer: consuming sending SPSCRing<Frame>.Consumer
            ) \(example.lines.contains { $0.contains("await ") && !$0.hasPrefix("    ") } ? "async " : "")throws {
                do {
            #sourceLocation(file: "\(example.place.split(separator: ":")[0])", line: \(example.place.split(separator: ":")[1]))
            \(example.lines.joined(separator: "\n"))
            #sourceLocation()
                }
            }
            """
        }
        let result = try await Compiler.compile(Self.prelude + "\n" + functions.joined(separator: "\n"))
        #expect(result.succeeded, "\(result.output)")
    }
}
