// SPDX-License-Identifier: Apache-2.0
//
// A mutex with a name, for reports.

extension PriorityInheritingMutex where Value: ~Copyable {
    /// A free mutex that guards `initialValue` and has a name, which misuse reports give. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(_ initialValue: consuming sending Value, name: String) {
        self.init(initialValue)
        setName(name, of: storage.storage.base)
    }

    /// The name that the mutex was made with, or `nil`. Thread-safe; blocks briefly.
    public var name: String? {
        Interlock.name(of: storage.storage.base)
    }
}
