// SPDX-License-Identifier: Apache-2.0
//
// Peers written in Rust. Each brings its whole measured loop, step for step the one the C++ contenders
// run, so that its fast paths are inlined by its own compiler and no call crosses the language border
// but one per thread and slice.

mod common;
mod rings;
mod rwlock;
