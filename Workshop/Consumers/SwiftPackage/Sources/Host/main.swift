// SPDX-License-Identifier: Apache-2.0
//
// Host PLUGIN: moves a lock's readers to slots, and while it reads asks the plugin, which has its own copy of the C
// core, to try to write. The plugin is kept out, or the two copies are reported.

import CInterlock

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

typealias TryWrite = @convention(c) (UnsafeMutablePointer<ilk_rwlock>) -> Bool

guard CommandLine.arguments.count == 2,
    let library = dlopen(CommandLine.arguments[1], RTLD_NOW | RTLD_LOCAL),
    let symbol = dlsym(library, "plugin_try_write")
else {
    print("cannot open the plugin: \(dlerror().map { String(cString: $0) } ?? "no name given")")
    exit(1)
}
let tryWrite = unsafeBitCast(symbol, to: TryWrite.self)
let lock = UnsafeMutablePointer<ilk_rwlock>.allocate(capacity: 1)
ilk_rwlock_init(lock)
for _ in 0..<100_000 {
    ilk_rwlock_read_lock(lock)
    ilk_rwlock_read_unlock(lock)
}
ilk_rwlock_read_lock(lock)
print(tryWrite(lock) ? "BOTH INSIDE" : "kept out")
