// SPDX-License-Identifier: Apache-2.0
//
// One value: reading it, and changing it in place.

extension SafeDictionary {
    /// The value for `key`, or `nil` if there is none. O(1) on average.
    @inlinable
    public func value(forKey key: Key) -> Value? {
        let section = storage.lockForReading("value(forKey:)")
        defer { storage.unlockForReading(section) }
        return storage.state.contents[key]
    }

    /// The value for `key`, or the result of `fallback` if there is none. Inserts nothing; `fallback` runs outside the
    /// lock. O(1) on average.
    @inlinable
    public func value(forKey key: Key, default fallback: @autoclosure () -> Value) -> Value {
        value(forKey: key) ?? fallback()
    }

    /// Whether there is a value for `key` now. O(1) on average.
    @inlinable
    public func contains(key: Key) -> Bool {
        let section = storage.lockForReading("contains(key:)")
        defer { storage.unlockForReading(section) }
        return storage.state.contents.index(forKey: key) != nil
    }

    /// The value for `key`, or `nil`; assigning `nil` removes it. A change in place (`dictionary[key]?.count += 1`)
    /// holds the lock for writing and is one step.
    ///
    /// - Precondition: A change in place does not call this dictionary, and does not suspend (`await`).
    /// - Complexity: O(1) on average.
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
            storage.beginWriting("subscript")
            let location = storage.location
            let observers = location.pointee.state.observers
            let before = observers == nil ? nil : location.pointee.state.contents[key]
            defer {
                if let observers {
                    observers.record(from: before, to: location.pointee.state.contents[key], forKey: key)
                }
                storage.endWriting()
                withExtendedLifetime(before) {}
                observers?.announce(self)
            }
            yield &location.pointee.state.contents[key]
        }
    }

    /// The value for `key`, or the result of `fallback`. A change in place starts from `fallback` if there is no value:
    /// `dictionary[key, default: 0] += 1` is one step.
    ///
    /// - Precondition: Neither a change in place nor `fallback` calls this dictionary.
    /// - Complexity: O(1) on average.
    @inlinable
    public subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get {
            value(forKey: key, default: fallback())
        }
        _modify {
            storage.beginWriting("subscript")
            let location = storage.location
            let observers = location.pointee.state.observers
            let before = observers == nil ? nil : location.pointee.state.contents[key]
            defer {
                if let observers {
                    observers.record(from: before, to: location.pointee.state.contents[key], forKey: key)
                }
                storage.endWriting()
                withExtendedLifetime(before) {}
                observers?.announce(self)
            }
            yield &location.pointee.state.contents[key, default: fallback()]
        }
    }
}
