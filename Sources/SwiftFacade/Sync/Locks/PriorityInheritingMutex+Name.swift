// SPDX-License-Identifier: Apache-2.0
//
// A mutex with a name, for reports.

extension PriorityInheritingMutex where Value: ~Copyable {
    /// A free mutex that guards `initialValue`, with a name for misuse reports. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public init(_ initialValue: consuming sending Value, name: String) {
        self.init(initialValue)
        setName(name, of: storage.storage.base)
    }

    /// The name, or `nil`. Thread-safe; blocks briefly.
    public var name: String? {
        InterlockSync.name(of: storage.storage.base)
    }
}
