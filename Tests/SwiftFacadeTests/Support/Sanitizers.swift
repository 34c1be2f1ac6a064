// SPDX-License-Identifier: Apache-2.0
//
// What depends on how the tests were built.

import Foundation

/// Fewer rounds under ThreadSanitizer, which is slow and finds a race in few.
func underThreadSanitizer<Value>(_ value: Value, instead: Value) -> Value {
    dlsym(nil, "__tsan_init") != nil ? value : instead
}
