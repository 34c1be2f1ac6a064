// SPDX-License-Identifier: Apache-2.0
//
// How the rings keep what the producers write away from what the consumers write.
//
// Two indices on one cache line make every push slow down every pop: each write takes the cache line from the
// other side's processor. Swift aligns a stored property to sixteen bytes at most, and malloc places class
// instances anywhere, so each side's record gets an aligned block of `cacheLines` bytes of its own. 128 bytes,
// not 64: x86-64 fetches cache lines in pairs, and those of Apple's processors have 128 bytes.

/// The distance that keeps two records off each other's cache lines.
private let cacheLines = 128

/// A record in cache lines of its own: lives until `deallocate`, at an address that never changes.
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
