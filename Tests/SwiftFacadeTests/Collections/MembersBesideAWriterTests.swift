// SPDX-License-Identifier: Apache-2.0
//
// Every public member of the shared collections beside a thread that adds and removes: the calls of OverloadTests,
// which has one for each member, in a program of their own. A trap, a report or a wait without end fails its test.

import Foundation
import Testing

@Suite struct MembersBesideAWriterTests {
    private static let runsPrograms = underThreadSanitizer(false, instead: true)

    /// By collection: its contents, whether they are there, and what the writer adds and removes. They are restored
    /// where a call has changed their number, and only there: what the writer adds is to be in the way.
    private static let writers = [
        "SafeArray<Int>": (
            "x.replaceAll(with: Array(0..<40))", "x.withReadLock { $0.count { $0 >= 0 } } == 40",
            """
            x.append(contentsOf: repeatElement(-1, count: 8))
            x.insert(-1, at: 0)
            x.removeAll { $0 < 0 }
            """
        ),
        "SafeDictionary<Int, Int>": (
            "x.replaceAll(with: Dictionary(uniqueKeysWithValues: (0..<40).map { ($0, $0) }))",
            "x.withReadLock { $0.count { $0.key >= 0 } } == 40",
            """
            x.merge((1...8).map { (-$0, 0) }) { $1 }
            x[-9, default: 0] += 1
            x.removeAll { key, _ in key < 0 }
            """
        ),
        "SafeSet<Int>": (
            "x.replaceAll(with: Set(0..<40))", "x.withReadLock { $0.count { $0 >= 0 } } == 40",
            """
            x.formUnion(-8...(-1))
            x.insert(-9)
            x.removeAll { $0 < 0 }
            """
        ),
    ]

    // One program at a time, each with a core for each of its threads. They run for minutes where the machine is slow.
    @Test(
        .serialized,
        .enabled(if: runsPrograms, "its runtime would have to be linked"),
        .timeLimit(.minutes(10)),
        arguments: writers.keys.sorted()
    )
    func everyMemberRunsBesideAThreadThatAddsAndRemoves(instance: String) async throws {
        let calls = try #require(OverloadTests.calls[instance]).values.joined().sorted()
        let (fill, isFull, write) = try #require(Self.writers[instance])
        let output = try await Compiler.runFile(
            """
            import Foundation
            import Interlock
            import Synchronization

            \(OverloadTests.probes(calls, on: instance))

            struct Call: Encodable {
                let body: (any Encoder) throws -> Void
                func encode(to encoder: any Encoder) throws { try body(encoder) }
            }

            @main enum Program {
                static let rounds = Atomic<Int>(0)

                /// The call again and again until it and the writer have gone round often.
                static func beside(_ name: String, _ x: \(instance), _ call: @escaping (any Encoder) throws -> Void) {
                    FileHandle.standardOutput.write(Data("calls \\(name)\\n".utf8))
                    \(fill)
                    let start = rounds.load(ordering: .relaxed)
                    var calls = 0
                    while calls < 2_000 || rounds.load(ordering: .relaxed) < start + 100 {
                        let several = Call { encoder in
                            var encoders = encoder.unkeyedContainer()
                            for _ in 0..<100 {
                                if !(\(isFull)) { \(fill) }
                                try? call(encoders.superEncoder())
                            }
                        }
                        _ = try? JSONEncoder().encode(several)
                        calls += 100
                        if calls > 2_000 { sched_yield() }
                    }
                }

                static func main() {
                    alarm(240)
                    let x = \(instance)()
                    Thread.detachNewThread {
                        while true {
                            \(write)
                            rounds.add(1, ordering: .relaxed)
                        }
                    }
                    var generator = SystemRandomNumberGenerator()
                    \(calls.indices.map {
                        "beside(\(String(reflecting: calls[$0])), x) { try probe\($0)(x, encoder: $0, generator: &generator) }"
                    }.joined(separator: "\n"))
                    print("ends")
                }
            }
            """
        )
        #expect(output.hasSuffix("ends\n"), "the last call: \(output.suffix(200))")
    }
}
