// SPDX-License-Identifier: Apache-2.0
//
// One value: reading it, and changing it in place.

extension SafeDictionary {
    /// The value for `key`, or `nil` if there is none. O(1) on average.
    @inlinable
    public func value(forKey key: Key) -> Value? {
        storage.whileReading("value(forKey:)") { storage.state.contents[key] }
    }

    /// The value for `key`, or the result of `fallback`, which runs outside the lock. Inserts nothing. O(1) on average.
    @inlinable
    public func value(forKey key: Key, default fallback: @autoclosure () -> Value) -> Value {
        value(forKey: key) ?? fallback()
    }

    /// Whether there is a value for `key` now. O(1) on average.
    @inlinable
    public func contains(key: Key) -> Bool {
        storage.whileReading("contains(key:)") { storage.state.contents.index(forKey: key) != nil }
    }

    /// The value for `key`, or `nil`; assigning `nil` removes it. A change in place (`dictionary[key]?.count += 1`)
    /// holds the lock for writing and is one step. O(1) on average.
    ///
    /// - Precondition: A change in place does not call this dictionary, and does not suspend (`await`).
    @inlinable
    public subscript(key: Key) -> Value? {
        get {
            value(forKey: key)
        }
        set {
            // The previous value is released after the lock.
            if let newValue {
                _ = updateValue(newValue, forKey: key)
            } else {
                _ = removeValue(forKey: key)
            }
        }
        _modify {
            let before = beginChange(forKey: key)
            defer { endChange(forKey: key, from: before) }
            let location = storage.location
            yield &location.pointee.state.contents[key]
        }
    }

    /// The value for `key`, or the result of `fallback`, from which a change in place starts if there is no value:
    /// `dictionary[key, default: 0] += 1` is one step. O(1) on average.
    ///
    /// - Precondition: Neither a change in place nor `fallback` calls this dictionary, and a change in place does not
    ///   suspend (`await`).
    @inlinable
    public subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get {
            value(forKey: key, default: fallback())
        }
        set {
            // One locked step; `fallback` is not evaluated.
            _ = updateValue(newValue, forKey: key)
        }
        _modify {
            let before = beginChange(forKey: key)
            defer { endChange(forKey: key, from: before) }
            let location = storage.location
            yield &location.pointee.state.contents[key, default: fallback()]
        }
    }

    // MARK: How

    /// Takes the lock; returns the value that observers see replaced.
    @inlinable @inline(__always)
    func beginChange(forKey key: Key) -> Value? {
        storage.beginWriting("subscript")
        return storage.state.observers == nil ? nil : storage.state.contents[key]
    }

    /// Records the change and gives the lock up; only then releases `before`, and announces.
    @inlinable @inline(__always)
    func endChange(forKey key: Key, from before: Value?) {
        let observers = storage.state.observers
        observers?.record(from: before, to: storage.state.contents[key], forKey: key)
        storage.endWriting()
        withExtendedLifetime(before) {}
        observers?.announce(self)
    }
}
