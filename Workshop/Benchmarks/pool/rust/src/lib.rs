// SPDX-License-Identifier: Apache-2.0
//
// rayon in the loops of the C++ contenders; see contender.h for what a job and an iteration are.

#[allow(dead_code)]
#[path = "../../../rust/src/common.rs"]
mod common;

use common::work;
use core::ffi::c_void;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

// These mirror contender.h.
const EVEN_STEPS: u32 = 8;
const UNEVEN_STEPS: u32 = 512;
const UNEVEN_SHARE: u64 = 64;

extern "C" {
    fn bench_pool_count_job();
}

#[derive(Clone, Copy)]
struct Context(*mut c_void);
unsafe impl Send for Context {}

#[inline(always)]
fn loop_step(index: u64, count: u64, is_uneven: bool) -> u64 {
    if !is_uneven {
        work(EVEN_STEPS, index)
    } else if index < count / UNEVEN_SHARE {
        work(UNEVEN_STEPS, index)
    } else {
        index
    }
}

fn fibonacci(number: u32) -> u64 {
    if number < 2 {
        return number as u64;
    }
    let (forked, called) = rayon::join(|| fibonacci(number - 1), || fibonacci(number - 2));
    forked + called
}

#[no_mangle]
pub extern "C" fn bench_rayon_create() -> *mut c_void {
    let pool = ThreadPoolBuilder::new().build().expect("rayon starts its threads");
    Box::into_raw(Box::new(pool)).cast()
}

/// # Safety
/// For all: `pool` comes from create, and is not used after destroy.
#[no_mangle]
pub unsafe extern "C" fn bench_rayon_destroy(pool: *mut c_void) {
    drop(unsafe { Box::from_raw(pool.cast::<ThreadPool>()) });
}

#[no_mangle]
pub unsafe extern "C" fn bench_rayon_run_one(
    pool: *mut c_void,
    function: unsafe extern "C" fn(*mut c_void),
    context: *mut c_void,
) {
    let context = Context(context);
    unsafe { &*pool.cast::<ThreadPool>() }.spawn(move || {
        let context = context;
        unsafe { function(context.0) }
    });
}

#[no_mangle]
pub unsafe extern "C" fn bench_rayon_submit(pool: *mut c_void, count: u64) {
    let pool = unsafe { &*pool.cast::<ThreadPool>() };
    for _ in 0..count {
        pool.spawn(|| unsafe { bench_pool_count_job() });
    }
}

#[no_mangle]
pub unsafe extern "C" fn bench_rayon_fibonacci(pool: *mut c_void, number: u32) -> u64 {
    unsafe { &*pool.cast::<ThreadPool>() }.install(|| fibonacci(number))
}

#[no_mangle]
pub unsafe extern "C" fn bench_rayon_loop(pool: *mut c_void, count: u64, is_uneven: bool) {
    unsafe { &*pool.cast::<ThreadPool>() }.install(|| {
        (0..count).into_par_iter().for_each(|index| {
            let value = loop_step(index, count, is_uneven);
            unsafe { core::arch::asm!("/* {0} */", in(reg) value, options(nomem, nostack, preserves_flags)) };
        });
    });
}
