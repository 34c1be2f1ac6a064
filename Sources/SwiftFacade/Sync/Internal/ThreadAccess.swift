// SPDX-License-Identifier: Apache-2.0
//
// The accesses that the calling thread is in: a list, on the thread's own stack, of the lock-guarded objects whose
// closures it runs. It turns a silent deadlock, calling the same object from inside, into a report.
//
// Invariant: the list's head is in a thread-local word of the C core's, and its nodes live exactly as long as the
// access they describe, innermost first. Only closure calls push a node (two stores and two loads). Reads and writes of
// single elements run no foreign code, and search the list only when they would have to wait. A bare lock's closures
// are recorded in debug builds only, in allocated nodes: the cost would be half the call.

import CInterlock

@frozen @usableFromInline
package struct ThreadAccess {
    /// The lock that is held; it identifies the object.
    @usableFromInline package let lock: UnsafeRawPointer
    /// The call that holds it, for the report: a literal's characters, which live for ever. A `StaticString` would take
    /// two more words of the cache line that holds a collection's state.
    @usableFromInline package let call: UnsafePointer<UInt8>
    @usableFromInline package var outer: UnsafeMutablePointer<ThreadAccess>?

    @inlinable
    package init(lock: UnsafeRawPointer, call: StaticString) {
        self.lock = lock
        self.call = call.utf8Start
        outer = nil
    }

    // No destructor: the nodes are in the thread's frames, and it cannot end inside an access.
    @inlinable
    package static var innermost: UnsafeMutablePointer<ThreadAccess>? {
        ilk__thread_access()?.assumingMemoryBound(to: ThreadAccess.self)
    }

    /// Begins `access`, whose node stays where it is until ``end(_:type:)``. A thread inside the same object is
    /// reported.
    @inlinable
    package static func begin(_ access: UnsafeMutablePointer<ThreadAccess>, type: Any) {
        let outer = innermost
        if let outer {
            outer.requireOutside(access.pointee.lock, call: access.pointee.call, type: type)
        }
        access.pointee.outer = outer
        ilk__set_thread_access(access)
    }

    /// Ends the thread's innermost access, which must be `access`: an `async` function given the object in place may
    /// come back on another thread.
    @inlinable
    package static func end(_ access: UnsafeMutablePointer<ThreadAccess>, type: Any) {
        guard innermost == access else { access.endsElsewhere(type: type) }
        ilk__set_thread_access(access.pointee.outer)
    }

    /// Records that the thread is inside `call`, in an allocated node: for locks in debug builds.
    @usableFromInline
    package static func enter(_ lock: UnsafeRawPointer, call: StaticString) -> Bool {
        let access = UnsafeMutablePointer<ThreadAccess>.allocate(capacity: 1)
        access.initialize(to: ThreadAccess(lock: lock, call: call))
        access.pointee.outer = innermost
        ilk__set_thread_access(access)
        return true
    }

    @usableFromInline
    package static func leave(_ lock: UnsafeRawPointer, type: Any) -> Bool {
        let access = innermost!
        guard access.pointee.lock == lock else { access.endsElsewhere(type: type) }
        ilk__set_thread_access(access.pointee.outer)
        access.deallocate()
        return true
    }

    /// Reports a thread that is inside a closure of the object that `lock` guards.
    @usableFromInline
    package static func requireOutside(
        _ lock: UnsafeRawPointer,
        call: StaticString,
        type: Any
    ) {
        innermost?.requireOutside(lock, call: call.utf8Start, type: type)
    }
}

extension UnsafeMutablePointer<ThreadAccess> {
    /// Searches from this access outwards.
    @usableFromInline
    package func requireOutside(_ lock: UnsafeRawPointer, call: UnsafePointer<UInt8>, type: Any) {
        var access: UnsafeMutablePointer<ThreadAccess>? = self
        while let current = access {
            if current.pointee.lock == lock {
                let inside = String(cString: current.pointee.call)
                // The thread may have changed its task.
                let orSuspended =
                    inside == "subscript"
                    ? ", or a task suspended in a change in place (`await f(&x[i])`)" : ""
                let sentence =
                    "called from inside \(inside) of the same object: the thread would wait for itself"
                misuse("\(type).\(String(cString: call))", lock, "\(sentence) for ever\(orSuspended)")
            }
            access = current.pointee.outer
        }
    }

    @inline(never) @usableFromInline
    package func endsElsewhere(type: Any) -> Never {
        misuse(
            "\(type).\(String(cString: pointee.call))",
            pointee.lock,
            "the access began on another thread, or ends out of order: an access in place cannot span a suspension"
        )
    }
}
