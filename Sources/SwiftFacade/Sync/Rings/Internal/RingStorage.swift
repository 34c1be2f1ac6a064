// SPDX-License-Identifier: Apache-2.0
//
// Owns a C ring. When the last end has gone, it releases each element that is left, once, and then the memory.

import CInterlock

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
        // No other reference is left, so the ring may be closed: elements stay to be taken out, and a push by an
        // element's deinit is refused.
        port.close()
        while port.tryPop(Element.self) != nil {}
        port.destroy()
    }
}
