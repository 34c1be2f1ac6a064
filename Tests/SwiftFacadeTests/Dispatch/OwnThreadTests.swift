// SPDX-License-Identifier: Apache-2.0
//
// The module's threads: the system shows their names.

#if os(Linux)
import Foundation
import Testing

@testable import Interlock

@Suite struct OwnThreadTests {
    @Test(arguments: ["interlock.ring", "concurrentMap.12", "größer als fünfzehn Bytes"])
    func theSystemShowsTheName(name: String) async throws {
        let seen = try await blocking(named: name) {
            try Data(contentsOf: URL(fileURLWithPath: "/proc/thread-self/comm"))
        }
        #expect(Array(seen.dropLast()) == Array(name.utf8.prefix(15)))
    }
}
#endif
