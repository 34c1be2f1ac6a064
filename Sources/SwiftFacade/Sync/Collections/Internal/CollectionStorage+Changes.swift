// SPDX-License-Identifier: Apache-2.0
//
// How the collections change: under the lock, where the observers record the change, which is announced after it.

/// A collection's state under its lock.
@frozen @usableFromInline
struct Observed<Owner: AnyObject, Contents, Change> {
    @usableFromInline var contents: Contents
    /// The subscribers; `nil` when there are none.
    @usableFromInline var observers: ChangeObservers<Owner, Change>?

    @inlinable
    init(_ contents: Contents) {
        self.contents = contents
        observers = nil
    }
}

extension CollectionStorage {
    /// A change by a few instructions of the toolkit, which record it. Removed elements are in the result, which the
    /// caller releases after the lock.
    @inlinable @inline(__always)
    func change<Contents, Change, Result>(
        _ owner: Owner,
        _ call: StaticString,
        _ body: (inout Contents, ChangeObservers<Owner, Change>?) -> Result
    ) -> Result where State == Observed<Owner, Contents, Change> {
        lockForWriting(call)
        let location = location
        // A path of its own: retaining observers calls the runtime, even for none.
        if location.pointee.state.observers == nil {
            let result = body(&location.pointee.state.contents, nil)
            unlockForWriting()
            return result
        }
        let observers = location.pointee.state.observers
        let result = body(&location.pointee.state.contents, observers)
        unlockForWriting()
        observers?.announce(owner)
        return result
    }

    /// A change by foreign code, in a `body` that records it.
    @inlinable
    func changeByClosure<Contents, Change, Result: ~Copyable, Failure: Error>(
        _ owner: Owner,
        _ call: StaticString,
        isBegun: Bool = false,
        _ body: (inout Contents, ChangeObservers<Owner, Change>?) throws(Failure) -> Result
    ) throws(Failure) -> Result where State == Observed<Owner, Contents, Change> {
        var observers: ChangeObservers<Owner, Change>?
        defer { observers?.announce(owner) }
        return try write(call, isBegun: isBegun) { (state) throws(Failure) -> Result in
            observers = state.observers
            return try body(&state.contents, observers)
        }
    }

    /// What ``ChangeSource/updateObservers(_:)`` does.
    func updateObservers<Contents, Change>(
        _ body: (ChangeObservers<Owner, Change>?) -> ChangeObservers<Owner, Change>?
    ) where State == Observed<Owner, Contents, Change> {
        // Owns handlers: released after the lock.
        var before: ChangeObservers<Owner, Change>?
        write("changes(deliverOn:)") { state in
            before = state.observers
            state.observers = body(before)
        }
        withExtendedLifetime(before) {}
    }
}
