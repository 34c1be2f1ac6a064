// SPDX-License-Identifier: Apache-2.0
//
// The C library's function for this module.

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
