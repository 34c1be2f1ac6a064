// SPDX-License-Identifier: Apache-2.0
//
// A consumer in Swift: fills a SafeArray from many threads, totals it under a ReadWriteLock, and passes the elements
// through a ring of the C module, and waits on the main thread, whose queue no thread drains, for an operation that
// pauses. Prints the results.

import CInterlock
import Dispatch
import Interlock

#if !swift(>=6)
#error("this consumer is to be compiled in Swift 6 mode")
#endif

let numbers = SafeArray<Int>()
let total = ReadWriteLock(0)

DispatchQueue.concurrentPerform(iterations: 1_000) { index in
    numbers.append(index)
    total.withWriteLock { $0 += index }
}

var ring: UnsafeMutablePointer<ilk_spsc>?
let status = ilk_spsc_create(&ring, 7, MemoryLayout<Int>.size)
precondition(status == ILK_OK, "no ring")
var received = 0
for number in numbers.snapshot {
    var element = number
    precondition(ilk_spsc_try_push(ring, &element, MemoryLayout<Int>.size))
    precondition(ilk_spsc_try_pop(ring, &element, MemoryLayout<Int>.size))
    received += element
}
ilk_spsc_destroy(ring)

// Foundation calls the main queue current here.
let tries = ReadWriteLock(0)
let retry = RetryPolicy(attempts: 2, backoff: .constant(.milliseconds(1)))
let retried = AsyncOperation<Int>(retry: retry) { () throws -> Int in
    let tries = tries.withWriteLock { count in
        count += 1
        return count
    }
    if tries < 2 { throw CancellationError() }
    return tries
}
retried.start()
let delayed = AsyncOperation<Int> { 3 }.delay(by: .milliseconds(1))
delayed.start()
let results = [retried, delayed].map { (try? $0.wait(timeout: .seconds(60))?.get()) ?? 0 }

let sum = total.withReadLock { $0 }
print("collected \(numbers.count) numbers, sum \(sum), received \(received), waited for \(results)")
