// SPDX-License-Identifier: Apache-2.0
//
// Foundation's queues can lose the moment at which an operation becomes ready: it is then never started. A queue starts
// an operation by a cached copy of `isReady`, and fills the copy in two steps:
//
//   thread that adds it                      thread that opens the last gate
//   asks isReady: false
//                                            asks isReady: true; stores true
//                                            has the queue search: it is not in it yet
//   stores false
//   has the queue search: the copy says false; asks isReady again: true; stores true, and searches no more
//
// The remedy is at the last line: a queue that asks again, and is answered true, is made to recheck, by one more change
// of `isReady`. The posting of such a change begins with a question that needs no recheck: the change is posted inside
// `ReadyPosting.around`, which knows that question. Operations of other kinds get no recheck.

import Foundation

extension AsyncOperation {
    var isHeldByFoundation: Bool { record.withLock { $0.isFree } && !super.isReady }

    /// A queue or a user has asked whether the operation is ready. After the answer yes, Foundation may not search its
    /// queue any more.
    func recheckLater() {
        guard record.withLock({ $0.beginRecheck() }) else { return }
        // After the caller has stored the answer, or later.
        DispatchQueue.global().async { [self] in
            record.withLock { $0.endRecheck() }
            ReadyPosting.around(self) { didChangeValue(for: \.isReady) }
        }
    }
}

/// Knows the question that begins the posting of a change of `isReady`.
enum ReadyPosting {
    private struct Frame {
        unowned(unsafe) let operation: Operation
        var wasAsked = false
    }

    /// The thread's innermost frame, while the call of `around` that owns it is on its stack.
    private static let key = threadKey()

    /// Runs `post`, in which Foundation asks whether `operation` is ready, stores the answer and has the queue search.
    static func around(_ operation: Operation, _ post: () -> Void) {
        let before = pthread_getspecific(key)
        var frame = Frame(operation: operation)
        withUnsafeMutablePointer(to: &frame) { frame in
            pthread_setspecific(key, frame)
            defer { pthread_setspecific(key, before) }
            post()
        }
    }

    /// Whether this is the first question about `operation` in a posting on this thread.
    static func isFirstQuestion(about operation: Operation) -> Bool {
        guard let frame = pthread_getspecific(key)?.assumingMemoryBound(to: Frame.self),
            frame.pointee.operation === operation, !frame.pointee.wasAsked
        else { return false }
        frame.pointee.wasAsked = true
        return true
    }
}
