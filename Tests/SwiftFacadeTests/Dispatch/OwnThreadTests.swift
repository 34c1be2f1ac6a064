// SPDX-License-Identifier: Apache-2.0
//
// The module's threads: the system shows their names.

#if os(Linux)
import Foundation
import Testing

@testable import Interlock

@Suite struct OwnThreadTests {
    /// What fits into 15 bytes, in whole characters.
    @Test(arguments: [
        ("interlock.ring", "interlock.ring"), ("concurrentMap.12", "concurrentMap.1"),
        ("größer als fünfzehn Bytes", "größer als f"), ("ordnungsgemäß", "ordnungsgemäß"),
        ("fünf Threads: äöü", "fünf Threads: "), ("🔒🔒🔒🔒", "🔒🔒🔒"), ("a\0b", "a␀b"),
    ])
    func theSystemShowsTheName(name: String, shown: String) async throws {
        let seen = try await blocking(named: name) {
            try Data(contentsOf: URL(fileURLWithPath: "/proc/thread-self/comm"))
        }
        #expect(Array(seen.dropLast()) == Array(shown.utf8))
    }
}
#endif
