// SPDX-License-Identifier: Apache-2.0
//
// A queue and its jobs, without Foundation.

import InterlockPool

func run() async throws {
    let queue = InterlockQueue(name: "numbers")
    let half = queue.job(name: "half") { 21 }
    print(try await half.then { $0 * 2 }.value)
    print(queue.explainWaiting())
}
try await run()
