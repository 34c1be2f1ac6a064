// SPDX-License-Identifier: Apache-2.0
//
// Keeps the threads of a measurement apart. Two threads in turns on one processor never meet and look ten times as fast
// as threads that do.

#if os(Linux)
import Foundation

/// Ties the calling thread to the `index`-th of the process's processors, counted round. A refusal only makes the
/// figures noisier.
func pinThread(_ index: Int) {
    guard let affinity else { return }
    var mask = [UInt8](repeating: 0, count: 128)  // cpu_set_t: 1,024 bits
    guard affinity.get(0, mask.count, &mask) >= 0 else { return }
    let processors = (0..<mask.count * 8).filter { mask[$0 / 8] & 1 << UInt8($0 % 8) != 0 }
    guard !processors.isEmpty else { return }
    let chosen = processors[index % processors.count]
    mask = [UInt8](repeating: 0, count: mask.count)
    mask[chosen / 8] = 1 << UInt8(chosen % 8)
    _ = affinity.set(0, mask.count, &mask)
}

private typealias Affinity = @convention(c) (pid_t, Int, UnsafeMutablePointer<UInt8>) -> CInt

/// sched_getaffinity and sched_setaffinity, looked up by name: every Linux C library has them, but declares them only
/// under _GNU_SOURCE, without which Swift's module of it is made.
private let affinity: (get: Affinity, set: Affinity)? = {
    let program = dlopen(nil, RTLD_NOW)
    guard let get = dlsym(program, "sched_getaffinity"), let set = dlsym(program, "sched_setaffinity") else {
        return nil
    }
    return (unsafeBitCast(get, to: Affinity.self), unsafeBitCast(set, to: Affinity.self))
}()
#else
func pinThread(_ index: Int) {}
#endif
