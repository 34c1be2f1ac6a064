// SPDX-License-Identifier: Apache-2.0
//
// Which serial executor the calling thread runs a job of. The list of ThreadAccess has it: an executor pushes a node
// with its own address while it runs jobs. A worker that waits runs jobs on top, for which that one waits. Those are
// not the executor's, so each begins with a boundary: a node whose lock is the node itself. The search for an executor
// ends at a boundary; the search for a lock goes on, because the thread below does hold it.

import CInterlock
import InterlockSync

enum PoolThread {
    /// Runs `body` as a job of a pool.
    // The list is empty but for a job on top of another one.
    @inline(__always)
    static func runsJob(_ body: () -> Void) {
        if ThreadAccess.innermost == nil { body() } else { runsJob(in: nil, WorkerPool.self, body) }
    }

    /// Runs `body` as a job of `executor`.
    static func runsJob(of executor: AnyObject, _ body: () -> Void) {
        runsJob(in: address(of: executor), type(of: executor), body)
    }

    /// Runs `body` in a node with this lock; nil: the node itself.
    @inline(never)
    private static func runsJob(in lock: UnsafeRawPointer?, _ type: Any, _ body: () -> Void) {
        withUnsafeTemporaryAllocation(of: ThreadAccess.self, capacity: 1) { buffer in
            let access = buffer.baseAddress!
            access.initialize(to: ThreadAccess(lock: lock ?? UnsafeRawPointer(access), call: "job"))
            access.pointee.outer = ThreadAccess.innermost
            ilk__set_thread_access(access)
            defer { ThreadAccess.end(access, type: type) }
            body()
        }
    }

    /// Whether the calling thread runs a job of `executor`, and no other job on top of it.
    static func isInJob(of executor: AnyObject) -> Bool {
        let address = address(of: executor)
        var access = ThreadAccess.innermost
        while let current = access {
            if current.pointee.lock == address { return true }
            if current.pointee.lock == UnsafeRawPointer(current) { return false }
            access = current.pointee.outer
        }
        return false
    }

    private static func address(of object: AnyObject) -> UnsafeRawPointer {
        UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }
}
