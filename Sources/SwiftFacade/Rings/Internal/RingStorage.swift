// SPDX-License-Identifier: Apache-2.0
//
// The owner of a C ring. It makes the ring, and ends it when the last endpoint has gone: the elements still in it are
// released, each once, and then the memory.

import CInterlock

/// Owns a C ring and what is left in it.
final class RingStorage<Port: RingPort, Element: ~Copyable>: Sendable {
    let port: Port

    init(capacity: Int) throws(RingError) {
        var ring: UnsafeMutablePointer<Port.Ring>?
        switch Port.create(&ring, capacity: max(capacity, 0), elementSize: ringElementSize(Element.self)) {
        case ILK_OK: port = Port(ring!)
        case ILK_INVALID: throw .invalidCapacity(capacity)
        default: throw .outOfMemory(capacity: capacity)
        }
    }

    deinit {
        // Nobody else has the ring any more, so it may be closed: what is left stays to be taken out, and
        // an element's deinit that tried to push would be refused.
        port.close()
        while port.tryPop(Element.self) != nil {}
        port.destroy()
    }
}
