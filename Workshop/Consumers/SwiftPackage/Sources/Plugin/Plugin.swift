// SPDX-License-Identifier: Apache-2.0
//
// A library with a copy of the C core linked into it, opened by Host.

import CInterlock

/// Tries to take the write side through this copy.
@_cdecl("plugin_try_write")
public func tryWrite(_ lock: UnsafeMutablePointer<ilk_rwlock>) -> Bool {
    ilk_rwlock_try_write_lock(lock)
}
