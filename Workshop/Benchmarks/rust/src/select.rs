// SPDX-License-Identifier: Apache-2.0
//
// crossbeam's select in the loops of wait_set/contender.h.

use crossbeam_channel::{bounded, select, Receiver, Select, Sender};
use std::thread;
use std::time::Instant;

const QUEUES: usize = 3;
const PLACES: usize = 1024;

fn channels() -> (Vec<Sender<u64>>, Vec<Receiver<u64>>) {
    (0..QUEUES).map(|_| bounded(PLACES)).unzip()
}

fn serve(drains: bool, from: &[Receiver<u64>], count: u64, mut body: impl FnMut(u64)) {
    if !drains {
        for _ in 0..count {
            let number = select! {
                recv(from[0]) -> number => number,
                recv(from[1]) -> number => number,
                recv(from[2]) -> number => number,
            };
            body(number.unwrap());
        }
        return;
    }
    let mut select = Select::new();
    for queue in from {
        select.recv(queue);
    }
    let mut served = 0;
    while served < count {
        let ready = select.ready();
        while let Ok(number) = from[ready].try_recv() {
            body(number);
            served += 1;
        }
    }
}

fn checked(sum: u64, count: u64, began: Instant) -> f64 {
    let took = began.elapsed();
    assert_eq!(sum, count * (count - 1) / 2, "an element was lost or doubled");
    took.as_nanos() as f64 / count as f64
}

#[no_mangle]
pub extern "C" fn bench_crossbeam_select_flow(drains: bool, producers: u32, count: u32) -> f64 {
    let (to, from) = channels();
    let count = count as u64;
    let mut sum = 0;
    let began = Instant::now();
    thread::scope(|scope| {
        for first in 0..producers as u64 {
            let to = &to;
            scope.spawn(move || {
                for number in (first..count).step_by(producers as usize) {
                    to[number as usize % QUEUES].send(number).unwrap();
                }
            });
        }
        serve(drains, &from, count, |number| sum += number);
    });
    checked(sum, count, began)
}

#[no_mangle]
pub extern "C" fn bench_crossbeam_select_trip(drains: bool, count: u32) -> f64 {
    let (to, from) = channels();
    let (answer, answers) = bounded(PLACES);
    let count = count as u64;
    let mut sum = 0u64;
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| serve(drains, &from, count, |number| answer.send(number).unwrap()));
        for number in 0..count {
            to[number as usize % QUEUES].send(number).unwrap();
            sum += answers.recv().unwrap();
        }
    });
    checked(sum, count, began)
}
