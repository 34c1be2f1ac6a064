// SPDX-License-Identifier: Apache-2.0
//
// Names of the objects that can wait, in the table of the C core (<interlock/diagnostics.h>). A name goes with its
// object's memory, whose address another object may get.

import CInterlock

/// Names the object at `address`, which has no name yet; without memory it stays unnamed.
@usableFromInline
package func setName(_ name: String, of address: UnsafeRawPointer) {
    _ = ilk_set_name(address, withoutZeros(name))
}

/// C would end the name at a zero.
package func withoutZeros(_ name: String) -> String {
    String(name.map { $0 == "\0" ? "\u{2400}" : $0 })
}

/// Takes the name away, if there is one, and what diagnosis knows. Costs a load each where there is neither.
@usableFromInline
package func forgetName(of address: UnsafeRawPointer) {
    ilk__facade_forget(address)
    _ = ilk_set_name(address, nil)
}

/// The name of the object at `address`, as far as it was kept.
@usableFromInline
package func name(of address: UnsafeRawPointer) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(ILK_NAME_SIZE)) { name in
        guard ilk_get_name(address, name.baseAddress, name.count) else { return nil }
        return String(cString: name.baseAddress!)
    }
}
