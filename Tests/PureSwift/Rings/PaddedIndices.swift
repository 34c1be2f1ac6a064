// SPDX-License-Identifier: Apache-2.0
//
// How the rings keep what the producers write away from what the consumers write.
//
// Two indices on one cache line make every push slow down every pop: each write takes the line away from
// the other side's processor. Swift can align a stored property to sixteen bytes at most, and
// class instances start wherever malloc puts them, so the distance has to be made by hand: each side's
// record gets a block of `cacheLines` bytes of its own, aligned to that. 128 bytes, not 64, because
// x86-64 fetches lines in pairs and Apple's processors have lines of 128.

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
