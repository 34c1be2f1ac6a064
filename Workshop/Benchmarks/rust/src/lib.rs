// SPDX-License-Identifier: Apache-2.0
//
// Peers written in Rust. Each brings its whole measured loop, step for step the loop of the C++ contenders. So its own
// compiler inlines its fast paths, and one call for each thread and slice crosses the language border.

mod common;
mod rings;
mod rwlock;
mod select;
