// SPDX-License-Identifier: Apache-2.0
//
// The module's threads: the system shows their names, and schedules them as the threads that start them.

#if os(Linux)
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync

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

    /// pthread_getschedparam of glibc does not know what the other call has set.
    @Test func aThreadRunsWithTheSchedulingThatItsStarterHas() {
        // SCHED_BATCH, for which no privilege is needed.
        let batch: Int32 = 3
        let found = SafeArray<OwnThread.Scheduling>()
        TestThread {
            found.append(OwnThread.scheduling)
            var parameters = sched_param()
            guard OwnThread.addNice(3) == 0 else { return }
            if sched_setscheduler(0, batch, &parameters) != 0 {
                pthread_setschedparam(pthread_self(), batch, &parameters)  // musl
            }
            found.append(OwnThread.scheduling)
            let hasRun = Event()
            OwnThread.run(named: "started") {
                found.append(OwnThread.scheduling)
                hasRun.happen()
            }
            hasRun.wait()
        }.join()
        let nice = min(found.first!.nice + 3, 19)
        let expected = OwnThread.Scheduling(policy: batch, priority: 0, nice: nice)
        #expect(Array(found.snapshot.dropFirst()) == [expected, expected])
    }
}
#endif
