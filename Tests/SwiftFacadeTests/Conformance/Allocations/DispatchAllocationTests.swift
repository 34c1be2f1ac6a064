// SPDX-License-Identifier: Apache-2.0
//
// What the helpers of `GCD` allocate beside what they wrap.

import CountingAllocator
import Dispatch
import Interlock
import Testing

@Suite("allocations of dispatch helpers", .serialized)
struct DispatchAllocationTests {
    private static let isCounted: Bool = isOptimised && counting_allocator_counts()

    /// Allocations of a thousand calls, after a thousand that may set something up.
    @inline(__always)
    private func allocations(_ work: () -> Void) -> Int {
        for _ in 0..<1_000 { work() }
        let before = counting_allocator_allocations()
        for _ in 0..<1_000 { work() }
        return Int(counting_allocator_allocations() - before)
    }

    // Whatever DispatchQueue.sync allocates for its block, and nothing besides.
    @Test(
        .enabled(
            if: isCounted,
            "debug builds allocate what release builds do not, sanitizers bring allocators"
        )
    )
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
    @Test(
        .enabled(
            if: isCounted,
            "debug builds allocate what release builds do not, sanitizers bring allocators"
        )
    )
    func aJobOfARunnerAllocatesItsHandle() {
        let runner = BoundedRunner(limit: 1)
        runner.suspend()
        #expect(allocations { runner.submit {} } == 1_000)
    }
}
