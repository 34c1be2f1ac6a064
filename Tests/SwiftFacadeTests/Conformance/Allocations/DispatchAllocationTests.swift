// SPDX-License-Identifier: Apache-2.0
//
// What the helpers of `GCD` allocate beside what they wrap.

import Dispatch
import Interlock
import Testing
// contract: BoundedRunner, GCD
@Suite("allocations of dispatch helpers", .serialized)
struct DispatchAllocationTests {
    // Whatever DispatchQueue.sync allocates for its block, and nothing besides.
    @Test(.whereAllocationsCount)
    func syncAllocatesNoMoreThanPlainSync() {
        let (outer, queue) = (GCD.serialQueue(label: "outer"), GCD.serialQueue(label: "inner"))
        var sum = 0
        let plain = allocations { queue.sync { sum &+= 1 } }
        let checked = allocations { GCD.sync(on: queue) { sum &+= 1 } }
        #expect(checked == plain)
        let withResult = allocations { sum &+= GCD.sync(on: queue) { 1 } }
        #expect(withResult == plain)
        GCD.sync(on: outer) {
            let nested = allocations { GCD.sync(on: queue) { sum &+= 1 } }
            #expect(nested == plain)
        }
        outer.sync {
            let onQueue = allocations { GCD.sync(on: queue) { sum &+= 1 } }
            #expect(onQueue == plain)
        }
        #expect(sum > 0)
    }

    // The handle; the closure without captures needs none. Suspended: no lane is started.
    @Test(.whereAllocationsCount)
    func aJobOfARunnerAllocatesItsHandle() {
        let runner = BoundedRunner(limit: 1)
        runner.suspend()
        #expect(allocations { runner.submit {} } == 1_000)
    }
}
