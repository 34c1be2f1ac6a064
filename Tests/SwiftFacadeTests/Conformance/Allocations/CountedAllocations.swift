// SPDX-License-Identifier: Apache-2.0
//
// How allocations are counted, and where. The allocator counts those of the calling thread.

import CountingAllocator
import Testing

/// Allocations of a thousand calls, after a thousand that may set something up: a lock changes its reader mode, and the
/// runtime makes a type at its first use.
@inline(__always)
func allocations(_ work: () -> Void) -> Int {
    for _ in 0..<1_000 { work() }
    let before = counting_allocator_allocations()
    for _ in 0..<1_000 { work() }
    return Int(counting_allocator_allocations() - before)
}

extension Trait where Self == ConditionTrait {
    /// A test whose figures are true of optimised builds with the counting allocator only.
    static var whereAllocationsCount: Self {
        .enabled(
            if: isOptimised && counting_allocator_counts(),
            "debug builds allocate what release builds do not, sanitizers bring allocators"
        )
    }
}
