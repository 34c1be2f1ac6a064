// SPDX-License-Identifier: Apache-2.0
//
// The same as the runner's C++ headers: cycle counter, work, random numbers, histogram, phase word. The figures compare
// only as long as both stay the same.

use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn ticks() -> u64 {
    let value: u64;
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) value) };
    value
}

#[inline(always)]
pub fn work(mut steps: u32, seed: u64) -> u64 {
    let mut value = seed;
    while steps != 0 {
        value = value.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        // Keeps every step: to the compiler, `value` has changed.
        unsafe { core::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
        steps -= 1;
    }
    value
}

pub struct Random(pub u64);

impl Random {
    #[inline(always)]
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        ((self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) as u32
    }
}

const SUB_BITS: u32 = 4;
const BUCKET_COUNT: usize = (64 - SUB_BITS as usize + 1) << SUB_BITS;

// The memory is the C++ side's bench::Histogram.
#[repr(C)]
pub struct Histogram {
    buckets: [u64; BUCKET_COUNT],
    largest: u64,
}

impl Histogram {
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        let bucket = if value < 1 << SUB_BITS {
            value as usize
        } else {
            let shift = 63 - value.leading_zeros() - SUB_BITS;
            ((shift << SUB_BITS) as u64 + (value >> shift)) as usize
        };
        self.buckets[bucket] += 1;
        self.largest = self.largest.max(value);
    }
}

/// # Safety
/// `phase` points to the slice's phase word, which outlives the loop.
#[inline(always)]
pub unsafe fn phase_lasts(phase: *const AtomicU32, during: u32) -> bool {
    unsafe { (*phase).load(Ordering::Relaxed) == during }
}
