// SPDX-License-Identifier: Apache-2.0
//
// What is to run at an end, in the order in which it was added. A wait takes its hook back: in O(log n), so that many
// waits with limits for one end do not slow each other down. The places of hooks that were taken back go when they are
// half of all.
//
// Inlinable: in a module that does not specialise it, each call asks the runtime for the types of tuple and array.

@usableFromInline
package struct EndHooks<Body> {
    @usableFromInline var hooks: [(id: UInt64, body: Body?)] = []
    @usableFromInline var last: UInt64 = 0
    @usableFromInline var removed = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { hooks.count == removed }
    @inlinable package var count: Int { hooks.count - removed }

    @inlinable
    package mutating func add(_ body: Body) -> UInt64 {
        last += 1
        hooks.append((last, body))
        return last
    }

    /// The body, for the caller to free outside its lock; nil where the hooks were taken.
    @inlinable
    package mutating func remove(_ id: UInt64) -> Body? {
        var (low, high) = (0, hooks.count)
        while low < high {
            let middle = (low + high) / 2
            if hooks[middle].id < id { low = middle + 1 } else { high = middle }
        }
        guard low < hooks.count, hooks[low].id == id, let body = hooks[low].body.take() else { return nil }
        removed += 1
        if removed * 2 > hooks.count {
            hooks.removeAll { $0.body == nil }
            removed = 0
        }
        return body
    }

    /// All, in order; none is left.
    @inlinable
    package mutating func takeAll() -> [Body] {
        if hooks.isEmpty { return [] }
        // Not a key path: one of a generic type is made anew at each call, in 3 us.
        let bodies = hooks.compactMap { $0.body }
        (hooks, removed) = ([], 0)
        return bodies
    }
}
