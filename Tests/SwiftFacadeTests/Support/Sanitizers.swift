// SPDX-License-Identifier: Apache-2.0
//
// What depends on how the tests were built.

import Foundation

/// Fewer rounds under ThreadSanitizer, which is slow and finds a race in few.
func underThreadSanitizer<Value>(_ value: Value, instead: Value) -> Value {
    dlsym(nil, "__tsan_init") != nil ? value : instead
}

/// How often a test of a race or of growth repeats: `all` with INTERLOCK_STRESS=full (`scripts/prove`), else a fifth.
func repetitions(_ all: Int, underThreadSanitizer few: Int) -> Int {
    underThreadSanitizer(few, instead: isFullStress ? all : max(1, all / 5))
}

private let isFullStress = ProcessInfo.processInfo.environment["INTERLOCK_STRESS"] == "full"
