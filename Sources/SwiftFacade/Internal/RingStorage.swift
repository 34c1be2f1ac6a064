// SPDX-License-Identifier: Apache-2.0
//
// Who owns the C rings. A storage object makes one, and ends it when the last endpoint has gone: the
// elements still in it are released, each once, and then the memory.

import CInterlock

/// Owns an `ilk_spsc` and what is left in it.
final class SPSCStorage<Element: ~Copyable> {
    let ring: UnsafeMutablePointer<ilk_spsc>

    init(capacity: Int) throws(RingError) {
        var ring: UnsafeMutablePointer<ilk_spsc>?
        let status = ilk_spsc_create(&ring, max(capacity, 0), ringElementSize(Element.self))
        self.ring = try created(ring, status, capacity: capacity)
    }

    deinit {
        // Nobody else has the ring any more, so it may be closed: what is left stays to be taken out, and
        // an element's deinit that tried to push would be refused.
        ilk_spsc_close(ring)
        while true {
            let popped = takeOver(Element.self) {
                ilk_spsc_try_pop(ring, $0, ringElementSize(Element.self)) ? ILK_OK : ILK_TIMEDOUT
            }
            guard popped.element() != nil else { break }
        }
        ilk_spsc_destroy(ring)
    }
}

// Holds an address and frees it; the rules of producer and consumer are kept by the endpoints.
extension SPSCStorage: @unchecked Sendable where Element: ~Copyable {}

/// Owns an `ilk_mpmc` and what is left in it.
final class MPMCStorage<Element: ~Copyable> {
    let ring: UnsafeMutablePointer<ilk_mpmc>

    init(capacity: Int) throws(RingError) {
        var ring: UnsafeMutablePointer<ilk_mpmc>?
        let status = ilk_mpmc_create(&ring, max(capacity, 0), ringElementSize(Element.self))
        self.ring = try created(ring, status, capacity: capacity)
    }

    deinit {
        // As in SPSCStorage.
        ilk_mpmc_close(ring)
        while true {
            let popped = takeOver(Element.self) {
                ilk_mpmc_try_pop(ring, $0, ringElementSize(Element.self)) ? ILK_OK : ILK_TIMEDOUT
            }
            guard popped.element() != nil else { break }
        }
        ilk_mpmc_destroy(ring)
    }
}

// Holds an address and frees it; the C ring is made for any number of threads.
extension MPMCStorage: @unchecked Sendable where Element: ~Copyable {}

func created<Ring>(
    _ ring: UnsafeMutablePointer<Ring>?,
    _ status: ilk_status,
    capacity: Int
) throws(RingError) -> UnsafeMutablePointer<Ring> {
    switch status {
    case ILK_OK: return ring!
    case ILK_INVALID: throw .invalidCapacity(capacity)
    default: throw .outOfMemory(capacity: capacity)
    }
}
