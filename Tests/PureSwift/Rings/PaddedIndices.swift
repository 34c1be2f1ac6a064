// SPDX-License-Identifier: Apache-2.0
//
// Separate cache lines for the producers' and the consumers' words: on one line every push slows down every pop. Swift
// aligns a stored property to sixteen bytes at most, and malloc places class instances anywhere, so each side's record
// gets an aligned block. 128 bytes: x86-64 fetches cache lines in pairs, and Apple's processors have lines of 128
// bytes.

private let cacheLines = 128

/// A record in cache lines of its own, at a fixed address until `deallocate`.
@usableFromInline
struct OwnCacheLines<Record: ~Copyable>: ~Copyable {
    @usableFromInline let address: UnsafeMutablePointer<Record>

    init(_ record: consuming Record) {
        let bytes = (MemoryLayout<Record>.size + cacheLines - 1) / cacheLines * cacheLines
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: cacheLines)
        address = memory.bindMemory(to: Record.self, capacity: 1)
        address.initialize(to: record)
    }

    deinit {
        address.deinitialize(count: 1)
        UnsafeMutableRawPointer(address).deallocate()
    }
}
