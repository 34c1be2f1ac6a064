// SPDX-License-Identifier: Apache-2.0
//
// What the calling thread is inside of: a list, on the thread's own stack, of the lock-guarded objects
// whose closures it is running. It exists to turn the one mistake that closures under a lock invite,
// calling the same object again from inside, from a silent deadlock into a sentence.
//
// Invariant: the list's head is in thread-specific data and its nodes live exactly as long as the
// access they describe, innermost first. Only closure calls push a node (two thread-specific accesses,
// about the price of one atomic operation); reads and writes of single elements run no foreign code
// and only look the list up once they would have to wait.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// One access in progress.
@frozen @usableFromInline
struct ThreadAccess {
    /// The lock that is held: what identifies the object.
    @usableFromInline let lock: UnsafeRawPointer
    /// The call that holds it, for the report: the characters of a literal, which live for ever. A
    /// `StaticString` would take two words more of the line that collections keep their state in.
    @usableFromInline let call: UnsafePointer<UInt8>
    /// The next outer access of the same thread.
    @usableFromInline var outer: UnsafeMutablePointer<ThreadAccess>?
    /// Where the thread keeps its innermost access, so that the end need not ask again.
    @usableFromInline var key: pthread_key_t

    @inlinable
    init(lock: UnsafeRawPointer, call: StaticString) {
        self.lock = lock
        self.call = call.utf8Start
        outer = nil
        key = 0
    }

    // No destructor: a thread cannot end inside an access, the nodes are in its frames.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        guard pthread_key_create(&key, nil) == 0 else {
            misuse("ThreadAccess", nil, "the process has no thread-specific key left")
        }
        return key
    }()

    private static func innermost(_ key: pthread_key_t) -> UnsafeMutablePointer<ThreadAccess>? {
        pthread_getspecific(key)?.assumingMemoryBound(to: ThreadAccess.self)
    }

    /// Begins `access`, unless the thread is inside the same object already: that is reported. The node
    /// must stay where it is until ``end(_:type:)``.
    @usableFromInline
    static func begin(_ access: UnsafeMutablePointer<ThreadAccess>, type: Any.Type) {
        let key = key
        let outer = innermost(key)
        if let outer {
            outer.requireOutside(access.pointee.lock, call: String(cString: access.pointee.call), type: type)
        }
        access.pointee.outer = outer
        access.pointee.key = key
        pthread_setspecific(key, access)
    }

    /// Ends the innermost access of the thread, which must be `access`. It is not when an `async`
    /// function was given the object in place and came back on another thread.
    @usableFromInline
    static func end(_ access: UnsafeMutablePointer<ThreadAccess>, type: Any.Type) {
        let key = access.pointee.key
        guard innermost(key) == access else {
            misuse(
                "\(type).\(String(cString: access.pointee.call))",
                access.pointee.lock,
                "the access began on another thread, or ends out of order: an access in place cannot span a suspension"
            )
        }
        pthread_setspecific(key, access.pointee.outer)
    }

    /// Reports that this thread is already inside a closure of the object that `lock` guards, if so.
    @usableFromInline
    static func requireOutside(
        _ lock: UnsafeRawPointer,
        call: @autoclosure () -> String,
        type: Any.Type
    ) {
        innermost(key)?.requireOutside(lock, call: call(), type: type)
    }
}

extension UnsafeMutablePointer<ThreadAccess> {
    /// Goes through the accesses from this one outwards. There are seldom more than two.
    fileprivate func requireOutside(
        _ lock: UnsafeRawPointer,
        call: @autoclosure () -> String,
        type: Any.Type
    ) {
        var access: UnsafeMutablePointer<ThreadAccess>? = self
        while let current = access {
            if current.pointee.lock == lock {
                let inside = String(cString: current.pointee.call)
                misuse(
                    "\(type).\(call())",
                    lock,
                    "called from inside \(inside) of the same object: the thread would wait for itself for ever"
                )
            }
            access = current.pointee.outer
        }
    }
}
