// SPDX-License-Identifier: Apache-2.0
//
// The queues that the calling thread is inside of, for `GCD.sync`: a list on the thread's own stack, innermost first,
// whose head is a thread-local word of the C core's. Rejected: a task-local list, which tasks that outlive the `sync`
// would inherit.
//
// Invariant: a frame is in the list exactly while the work runs that it describes. Tags are found only when a call
// further in asks for them: an outermost `sync` stores a few words and allocates nothing.

import CInterlock
import Dispatch

@frozen @usableFromInline
struct EnteredQueue {
    /// Retained by the call that owns the frame.
    @usableFromInline let queue: Unmanaged<DispatchQueue>
    /// The frame that the call was made in. It is another thread's for the main queue, whose thread runs the work while
    /// the calling one waits.
    @usableFromInline let outer: UnsafeMutablePointer<EnteredQueue>?
    /// The queue that the call was made on, if it is not in `outer`. Owned by its queue, which runs the call.
    @usableFromInline var caller: Unmanaged<QueueTag>?
    /// Found at the first question. Owned by the queue.
    @usableFromInline var foundTag: Unmanaged<QueueTag>?
    @usableFromInline var isTagSought = false
    /// The runner whose jobs the frame runs.
    @usableFromInline var runner: UnsafeRawPointer?

    @inlinable @inline(__always)
    init(_ queue: DispatchQueue) {
        self.queue = .passUnretained(queue)
        outer = EnteredQueue.innermost
    }

    @inlinable @inline(__always)
    static var innermost: UnsafeMutablePointer<EnteredQueue>? {
        ilk__entered_queue()?.assumingMemoryBound(to: EnteredQueue.self)
    }

    /// Runs `body` on this thread, inside `frame`.
    @inlinable @inline(__always)
    static func with(_ frame: UnsafeMutablePointer<EnteredQueue>, _ body: () -> Void) {
        let before = ilk__entered_queue()
        ilk__set_entered_queue(frame)
        body()
        ilk__set_entered_queue(before)
    }

    /// The queue's tag, attached now if it had none; nil for a global queue. Owned by the queue.
    var tag: Unmanaged<QueueTag>? {
        mutating get {
            if !isTagSought {
                foundTag = queue._withUnsafeGuaranteedRef { QueueTag.of($0) }.map(Unmanaged.passUnretained)
                isTagSought = true
            }
            return foundTag
        }
    }
}

/// What the frames of the calling thread say.
enum EnteredQueues {
    /// The tags of the queues it is inside of, outermost first.
    static var current: [QueueTag] {
        var tags: [QueueTag] = []
        _ = first {
            tags.append($0.takeUnretainedValue())
            return false
        }
        return tags.reversed()
    }

    /// The innermost queue for which `isSought` is true.
    @inline(__always)
    static func first(where isSought: (Unmanaged<QueueTag>) -> Bool) -> Unmanaged<QueueTag>? {
        var frame = EnteredQueue.innermost
        while let entered = frame {
            if let tag = entered.pointee.tag, isSought(tag) { return tag }
            if let caller = entered.pointee.caller, isSought(caller) { return caller }
            frame = entered.pointee.outer
        }
        return nil
    }

    /// Whether it runs a job of the runner.
    static func isInJob(of runner: AnyObject) -> Bool {
        let address = UnsafeRawPointer(Unmanaged.passUnretained(runner).toOpaque())
        var frame = EnteredQueue.innermost
        while let entered = frame {
            if entered.pointee.runner == address { return true }
            frame = entered.pointee.outer
        }
        return false
    }
}
