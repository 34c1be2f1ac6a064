// SPDX-License-Identifier: Apache-2.0
//
// Serial queues as locks, for diagnosis: `GCD.sync` asks for its queue, and work that `GCD` runs on a queue holds it.
// Only queues known to be serial count: two pieces of work run beside each other on a concurrent one, and libdispatch
// does not tell which is which.

import CInterlock
import Foundation
import InterlockSync

extension GCD {
    /// The form of `sync` while diagnosis is on.
    @usableFromInline
    static func watchedSync<Value, Failure: Error>(
        on queue: DispatchQueue,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard let tag = QueueTag.of(queue), tag.width == .serial else {
            return try plainSync(on: queue, body)
        }
        // Reports what would wait for itself, in its own words, before diagnosis does.
        var frame = EnteredQueue(queue)
        if frame.outer != nil || ilk__may_run_on_queue() { frame.requireEnterable("GCD.sync") }
        let caller = pthread_self()
        var watch = ilk__facade_watch()
        ilk__facade_ask(&watch, tag.address, ILK_OBJECT_QUEUE, tag.label, forever)
        return try withUnsafeMutablePointer(to: &watch) { watch throws(Failure) in
            defer { ilk__facade_taken(watch, false) }  // nothing left to end, unless another thread ran it
            return try plainSync(on: queue) { () throws(Failure) -> Value in
                // The main queue's thread runs it while this one waits.
                if pthread_equal(pthread_self(), caller) != 0 {
                    ilk__facade_taken(watch, true)
                } else {
                    ilk__facade_enter(tag.address, ILK_OBJECT_QUEUE, tag.label)
                }
                defer { ilk__facade_give(tag.address) }
                return try body()
            }
        }
    }
}

extension QueueTag {
    /// What diagnosis knows the queue by.
    var address: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// Runs `work`, which this thread runs on `queue`.
    @inlinable @inline(__always)
    static func running<Result>(on queue: DispatchQueue, _ work: () -> Result) -> Result {
        ilk__facade_diagnoses() != 0 ? watchedRunning(on: queue, work) : work()
    }

    @usableFromInline
    static func watchedRunning<Result>(on queue: DispatchQueue, _ work: () -> Result) -> Result {
        guard let tag = of(queue), tag.width == .serial else { return work() }
        ilk__facade_enter(tag.address, ILK_OBJECT_QUEUE, tag.label)
        defer { ilk__facade_give(tag.address) }
        return work()
    }
}
