// SPDX-License-Identifier: Apache-2.0
//
// The one function that this module needs from the C library.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

func power(_ base: Double, _ exponent: Double) -> Double {
    pow(base, exponent)
}
