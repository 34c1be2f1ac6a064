// SPDX-License-Identifier: Apache-2.0
//
// Tells threads apart; the value is only compared.

#if canImport(Glibc)
import Glibc

// A number with glibc, a pointer elsewhere.
private func currentHandle() -> UInt { UInt(pthread_self()) }
#else
#if canImport(Musl)
import Musl
#else
import Darwin
#endif

private func currentHandle() -> UInt { UInt(bitPattern: pthread_self()) }
#endif

struct ThreadIdentity: Equatable, Sendable {
    private let handle: UInt

    static var current: ThreadIdentity {
        ThreadIdentity(handle: currentHandle())
    }
}
