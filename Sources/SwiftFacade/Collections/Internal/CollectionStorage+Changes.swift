// SPDX-License-Identifier: Apache-2.0
//
// How SafeArray, SafeDictionary and SafeSet change their contents: under the lock, recorded with the observers, if
// there are any, before the lock is given up, and announced afterwards.

/// The state of a collection under its lock.
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
    /// A change by the toolkit's own few instructions, which record it. Removed elements are in the result, which the
    /// caller releases after the lock.
    @inlinable @inline(__always)
    func change<Contents, Change, Result>(
        _ owner: Owner,
        _ call: StaticString,
        _ body: (inout Contents, ChangeObservers<Owner, Change>?) -> Result
    ) -> Result where State == Observed<Owner, Contents, Change> {
        lockForWriting(call)
        let location = location
        // A path of its own: retaining the observers is a call to the runtime, also where there are none.
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

    /// A change that runs foreign code, which records the change itself.
    @inlinable
    func changeByClosure<Contents, Change, Result: ~Copyable, Failure: Error>(
        _ owner: Owner,
        _ call: StaticString,
        _ body: (inout Contents, ChangeObservers<Owner, Change>?) throws(Failure) -> Result
    ) throws(Failure) -> Result where State == Observed<Owner, Contents, Change> {
        var observers: ChangeObservers<Owner, Change>?
        defer { observers?.announce(owner) }
        return try write(call) { (state) throws(Failure) -> Result in
            observers = state.observers
            return try body(&state.contents, observers)
        }
    }

    /// Replaces the observers by those that `body` answers.
    func updateObservers<Contents, Change>(
        _ body: (ChangeObservers<Owner, Change>?) -> ChangeObservers<Owner, Change>?
    ) where State == Observed<Owner, Contents, Change> {
        // The observers own the callers' handlers: released after the lock.
        var before: ChangeObservers<Owner, Change>?
        write("changes(deliverOn:)") { state in
            before = state.observers
            state.observers = body(before)
        }
        withExtendedLifetime(before) {}
    }
}
