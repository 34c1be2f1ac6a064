// SPDX-License-Identifier: Apache-2.0
//
// The C library's functions for these modules.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The angle of a direction, in radians.
package func angle(y: Float, x: Float) -> Float { atan2f(y, x) }

/// A direction turned clockwise, in radians, in a picture whose y axis points down.
package func rotated(_ direction: (x: Float, y: Float), by angle: Float) -> (x: Float, y: Float) {
    let (sine, cosine) = (sinf(angle), cosf(angle))
    return (direction.x * cosine - direction.y * sine, direction.x * sine + direction.y * cosine)
}

func power(_ base: Double, _ exponent: Double) -> Double {
    pow(base, exponent)
}
