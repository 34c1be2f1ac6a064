// SPDX-License-Identifier: Apache-2.0
//
// crossbeam's ArrayQueue in the loops of rings/contender.h, for the same three element sizes.

use crate::common::{phase_lasts, ticks, Histogram};
use core::ffi::c_void;
use crossbeam_queue::ArrayQueue;
use std::sync::atomic::{AtomicU32, Ordering};

// These mirror rings/element.h.
const MAX_PRODUCERS: usize = 15;
const END_STAMP: u64 = u64::MAX;

type Element<const WORDS: usize> = [u64; WORDS];

#[repr(C)]
pub struct ProducerBooks {
    next: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ConsumerBooks {
    count: u64,
    sum: u64,
    faults: u64,
    ended: u64,
    lone: u64,
    latest: [u64; MAX_PRODUCERS + 1],
}

impl ConsumerBooks {
    #[inline(always)]
    fn note<const WORDS: usize>(&mut self, element: &Element<WORDS>) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(element[0]);
        self.faults += (element[0] != element[WORDS - 1]) as u64;
    }

    #[inline(always)]
    fn note_order<const WORDS: usize>(&mut self, element: &Element<WORDS>) {
        let before = &mut self.latest[(element[0] >> 48) as usize & MAX_PRODUCERS];
        self.faults += (element[0] <= *before) as u64;
        *before = element[0];
    }
}

// How many probes before yielding; set before any thread starts. See rings/contender.h.
static PAUSES: AtomicU32 = AtomicU32::new(0);

#[no_mangle]
pub extern "C" fn bench_crossbeam_set_pauses(pauses: u32) {
    PAUSES.store(pauses, Ordering::Relaxed);
}

struct Backoff(u32);

impl Backoff {
    #[inline(always)]
    fn fail(&mut self) {
        self.0 += 1;
        if self.0 <= PAUSES.load(Ordering::Relaxed) {
            core::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

#[inline(always)]
fn stamp<const WORDS: usize>(element: &mut Element<WORDS>, value: u64) {
    element[0] = value;
    element[WORDS - 1] = value;
}

#[inline(always)]
fn pass<const WORDS: usize>(ring: &ArrayQueue<Element<WORDS>>, element: Element<WORDS>) {
    let mut backoff = Backoff(0);
    while ring.push(element).is_err() {
        backoff.fail();
    }
}

#[inline(always)]
fn take<const WORDS: usize>(ring: &ArrayQueue<Element<WORDS>>) -> Element<WORDS> {
    let mut backoff = Backoff(0);
    loop {
        if let Some(element) = ring.pop() {
            return element;
        }
        backoff.fail();
    }
}

unsafe fn produce<const WORDS: usize>(
    ring: &ArrayQueue<Element<WORDS>>,
    phase: *const AtomicU32,
    during: u32,
    books: &mut ProducerBooks,
) {
    let mut element = [0u64; WORDS];
    let mut backoff = Backoff(0);
    let mut next = books.next;
    while unsafe { phase_lasts(phase, during) } {
        stamp(&mut element, next);
        if ring.push(element).is_ok() {
            next += 1;
            backoff.0 = 0;
        } else {
            backoff.fail();
        }
    }
    books.next = next;
}

unsafe fn consume<const WORDS: usize>(
    ring: &ArrayQueue<Element<WORDS>>,
    phase: *const AtomicU32,
    during: u32,
    shared_books: &mut ConsumerBooks,
) {
    let mut backoff = Backoff(0);
    let mut books = *shared_books;
    while unsafe { phase_lasts(phase, during) } {
        if let Some(element) = ring.pop() {
            books.note_order(&element);
            books.note(&element);
            backoff.0 = 0;
        } else {
            backoff.fail();
        }
    }
    *shared_books = books;
}

unsafe fn ping<const WORDS: usize>(
    there: &ArrayQueue<Element<WORDS>>,
    back: &ArrayQueue<Element<WORDS>>,
    phase: *const AtomicU32,
    during: u32,
    trips: &mut Histogram,
) {
    let mut element = [0u64; WORDS];
    let mut number = 0;
    while unsafe { phase_lasts(phase, during) } {
        stamp(&mut element, number);
        let begin = ticks();
        pass(there, element);
        element = take(back);
        trips.record(ticks() - begin);
        number += 1;
    }
    stamp(&mut element, END_STAMP);
    pass(there, element);
}

fn pong<const WORDS: usize>(there: &ArrayQueue<Element<WORDS>>, back: &ArrayQueue<Element<WORDS>>) {
    loop {
        let element = take(there);
        if element[0] == END_STAMP {
            return;
        }
        pass(back, element);
    }
}

// The C functions of one element size. Safety, for all: rings come from create, books and histogram belong to the
// caller, the phase word outlives the call; no other call runs beside destroy and drain.
macro_rules! export {
    ($words:literal, $create:ident, $destroy:ident, $produce:ident, $consume:ident, $drain:ident, $ping:ident, $pong:ident) => {
        #[no_mangle]
        pub extern "C" fn $create(capacity: usize, _producers: u32, _consumers: u32) -> *mut c_void {
            Box::into_raw(Box::new(ArrayQueue::<Element<$words>>::new(capacity))).cast()
        }

        #[no_mangle]
        pub unsafe extern "C" fn $destroy(ring: *mut c_void) {
            drop(unsafe { Box::from_raw(ring.cast::<ArrayQueue<Element<$words>>>()) });
        }

        #[no_mangle]
        pub unsafe extern "C" fn $produce(
            ring: *mut c_void,
            _member: *mut c_void,
            phase: *const AtomicU32,
            during: u32,
            books: *mut ProducerBooks,
        ) {
            unsafe { produce::<$words>(&*ring.cast(), phase, during, &mut *books) }
        }

        #[no_mangle]
        pub unsafe extern "C" fn $consume(
            ring: *mut c_void,
            _member: *mut c_void,
            phase: *const AtomicU32,
            during: u32,
            books: *mut ConsumerBooks,
        ) {
            unsafe { consume::<$words>(&*ring.cast(), phase, during, &mut *books) }
        }

        #[no_mangle]
        pub unsafe extern "C" fn $drain(ring: *mut c_void, _member: *mut c_void, books: *mut ConsumerBooks) {
            let (ring, books) = unsafe { (&*ring.cast::<ArrayQueue<Element<$words>>>(), &mut *books) };
            while let Some(element) = ring.pop() {
                books.note(&element);
            }
        }

        #[no_mangle]
        pub unsafe extern "C" fn $ping(
            there: *mut c_void,
            back: *mut c_void,
            _producer: *mut c_void,
            _consumer: *mut c_void,
            phase: *const AtomicU32,
            during: u32,
            trips: *mut Histogram,
        ) {
            unsafe { ping::<$words>(&*there.cast(), &*back.cast(), phase, during, &mut *trips) }
        }

        #[no_mangle]
        pub unsafe extern "C" fn $pong(
            there: *mut c_void,
            back: *mut c_void,
            _producer: *mut c_void,
            _consumer: *mut c_void,
        ) {
            unsafe { pong::<$words>(&*there.cast(), &*back.cast()) }
        }
    };
}

export!(
    1, bench_crossbeam_create_8, bench_crossbeam_destroy_8, bench_crossbeam_produce_8, bench_crossbeam_consume_8,
    bench_crossbeam_drain_8, bench_crossbeam_ping_8, bench_crossbeam_pong_8
);
export!(
    8, bench_crossbeam_create_64, bench_crossbeam_destroy_64, bench_crossbeam_produce_64, bench_crossbeam_consume_64,
    bench_crossbeam_drain_64, bench_crossbeam_ping_64, bench_crossbeam_pong_64
);
export!(
    32, bench_crossbeam_create_256, bench_crossbeam_destroy_256, bench_crossbeam_produce_256,
    bench_crossbeam_consume_256, bench_crossbeam_drain_256, bench_crossbeam_ping_256, bench_crossbeam_pong_256
);
