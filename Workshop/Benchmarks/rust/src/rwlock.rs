// SPDX-License-Identifier: Apache-2.0
//
// parking_lot's RwLock in the loops of rwlock/contender.h.

use crate::common::{phase_lasts, ticks, work, Histogram, Random};
use core::ffi::c_void;
use core::ptr::{addr_of, addr_of_mut, read_volatile, write_volatile};
use parking_lot::lock_api::RawRwLock as _;
use parking_lot::RawRwLock;
use std::sync::atomic::AtomicU32;

// These three mirror rwlock/job.h.
#[repr(C)]
pub struct Job {
    phase: *const AtomicU32,
    during: u32,
    section: u32,
    pause: u32,
    threshold: u64,
    seed: u64,
}

#[repr(C)]
pub struct LoopCounts {
    operations: u64,
    writes: u64,
    torn: u64,
}

#[repr(C, align(128))]
pub struct Words {
    first: u64,
    second: u64,
}

// The lock and its data on cache lines of their own, as in the C++ contenders.
#[repr(C, align(128))]
struct Guarded {
    lock: RawRwLock,
    words: Words,
}

#[inline(always)]
unsafe fn read_words(words: *const Words, section: u32, chain: &mut u64) -> u64 {
    unsafe {
        let first = read_volatile(addr_of!((*words).first));
        if section != 0 {
            *chain = work(section, *chain ^ first);
        }
        (first != read_volatile(addr_of!((*words).second))) as u64
    }
}

#[inline(always)]
unsafe fn write_words(words: *mut Words, section: u32, chain: &mut u64) {
    unsafe {
        let first = addr_of_mut!((*words).first);
        let value = read_volatile(first) + 1;
        write_volatile(first, value);
        if section != 0 {
            *chain = work(section, *chain ^ value);
        }
        let second = addr_of_mut!((*words).second);
        write_volatile(second, read_volatile(second) + 1);
    }
}

#[no_mangle]
pub extern "C" fn bench_parking_lot_bytes() -> usize {
    core::mem::size_of::<RawRwLock>()
}

#[no_mangle]
pub extern "C" fn bench_parking_lot_create() -> *mut c_void {
    let guarded = Guarded { lock: RawRwLock::INIT, words: Words { first: 0, second: 0 } };
    Box::into_raw(Box::new(guarded)).cast()
}

/// # Safety
/// `shared` comes from create; no other call uses it.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_destroy(shared: *mut c_void) {
    drop(unsafe { Box::from_raw(shared.cast::<Guarded>()) });
}

/// # Safety
/// `shared` comes from create.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_words(shared: *mut c_void) -> *mut Words {
    unsafe { addr_of_mut!((*shared.cast::<Guarded>()).words) }
}

/// # Safety
/// `shared` comes from create; `job` and `counts` belong to the caller.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_mix(
    shared: *mut c_void,
    _member: *mut c_void,
    job: *const Job,
    counts: *mut LoopCounts,
) {
    unsafe {
        let lock = &(*shared.cast::<Guarded>()).lock;
        let words = bench_parking_lot_words(shared);
        let Job { phase, during, section, threshold, seed, .. } = *job;
        let mut random = Random(seed);
        let (mut operations, mut writes, mut torn, mut chain) = (0u64, 0u64, 0u64, 0u64);
        while phase_lasts(phase, during) {
            if (random.next() as u64) < threshold {
                lock.lock_exclusive();
                write_words(words, section, &mut chain);
                lock.unlock_exclusive();
                writes += 1;
            } else {
                lock.lock_shared();
                torn += read_words(words, section, &mut chain);
                lock.unlock_shared();
            }
            operations += 1;
        }
        *counts = LoopCounts { operations, writes, torn };
    }
}

/// # Safety
/// As for mix; `waits` belongs to the caller.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_wait(
    shared: *mut c_void,
    _member: *mut c_void,
    job: *const Job,
    counts: *mut LoopCounts,
    waits: *mut Histogram,
) {
    unsafe {
        let lock = &(*shared.cast::<Guarded>()).lock;
        let words = bench_parking_lot_words(shared);
        let Job { phase, during, section, pause, threshold, .. } = *job;
        let mut sum = LoopCounts { operations: 0, writes: 0, torn: 0 };
        let mut chain = 0u64;
        loop {
            chain = work(pause, chain);
            let begin = ticks();
            if threshold != 0 {
                lock.lock_exclusive();
                (*waits).record(ticks() - begin);
                write_words(words, section, &mut chain);
                lock.unlock_exclusive();
                sum.writes += 1;
            } else {
                lock.lock_shared();
                (*waits).record(ticks() - begin);
                sum.torn += read_words(words, section, &mut chain);
                lock.unlock_shared();
            }
            sum.operations += 1;
            if !phase_lasts(phase, during) {
                break;
            }
        }
        *counts = sum;
    }
}
