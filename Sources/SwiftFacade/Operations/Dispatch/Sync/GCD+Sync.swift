// SPDX-License-Identifier: Apache-2.0
//
// `sync` that refuses to wait for itself. libdispatch traps without a sentence, or hangs, when a thread waits for a
// queue that it is inside of. Two sources are read before waiting: the list of the queues this thread has entered
// through `GCD`, and the current queue, however work got there.

import CInterlock
import Dispatch
import InterlockSync

extension GCD {
    /// Runs `body` on `queue` and blocks until it has run, or reports that it never could.
    ///
    /// Entering a queue that this thread is already on, directly or further out (A, then B, then A again), is misuse,
    /// reported with the labels of all queues on the way; for concurrent queues too, where a second `sync` hangs as
    /// soon as a barrier waits in between. The global queues, which have no barriers, are exempt. Entering a queue that
    /// shares a serial target with one that the thread is on is misuse too: the target runs one piece of work at a
    /// time.
    ///
    /// The thread is on the queues entered through ``GCD`` and on the current queue, entered by plain `sync` or `async`
    /// too, when it makes this call or another one further out. A queue entered by plain `sync` is not seen if another
    /// was entered by plain `sync` before the next call. The targets of the current queue are seen, and those of queues
    /// that ``GCD`` made: their targets must not be changed later. A target of another queue is not seen once a further
    /// queue was entered: libdispatch does not tell it. A shared target counts as serial if ``GCD`` made it so or it is
    /// the main queue.
    ///
    /// Does not allocate more than `DispatchQueue.sync`. Outside of queues it costs about a tenth more.
    ///
    /// - Returns: the value of `body`, whose error is thrown on. `body` sees what was done before; what it did is
    ///   visible.
    @discardableResult
    @available(*, noasync, message: "it blocks the thread; use `try await GCD.run(on:)`")
    @inlinable
    public static func sync<Value, Failure: Error>(
        on queue: DispatchQueue,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if ilk__facade_diagnoses() != 0 { return try watchedSync(on: queue, body) }
        return try plainSync(on: queue, body)
    }

    @inlinable @inline(__always)
    static func plainSync<Value, Failure: Error>(
        on queue: DispatchQueue,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var frame = EnteredQueue(queue)
        if frame.outer != nil || ilk__may_run_on_queue() { frame.requireEnterable("GCD.sync") }
        var result: Result<Value, Failure>?
        withUnsafeMutablePointer(to: &frame) { frame in
            // The form without a result: the generic one allocates more, and looks types up.
            queue.sync { () -> Void in
                EnteredQueue.with(frame) {
                    do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
                }
            }
        }
        return try result.unsafelyUnwrapped.get()
    }
}

extension EnteredQueue {
    /// Reports a queue that this thread could never enter. Finds what frames further in will ask for.
    @inline(never) @usableFromInline
    mutating func requireEnterable(_ call: StaticString) {
        let current = QueueTag.current
        let target = tag
        var isInList = false
        var areAlone = target?._withUnsafeGuaranteedRef(\.isAlone) != false
        let holder = EnteredQueues.first { entered in
            if isSame(entered, current) { isInList = true }
            areAlone = areAlone && entered._withUnsafeGuaranteedRef(\.isAlone)
            return isSame(entered, target)
        }
        if !isInList {
            caller = current
            areAlone = areAlone && current?._withUnsafeGuaranteedRef(\.isAlone) != false
        }
        guard let target else { return }
        if let holder = holder ?? (isSame(target, current) ? current : nil) {
            report(call, target, holder, shared: target.takeUnretainedValue())
        }
        if !areAlone { requireFreeTargets(call, target.takeUnretainedValue()) }
    }

    /// Reports a serial queue, among `target` and those it targets, that a queue of this thread targets too.
    private func requireFreeTargets(_ call: StaticString, _ target: QueueTag) {
        var wanted: QueueTag? = target
        while let shared = wanted {
            if shared.width == .serial,
                let holder = innermost(where: { $0._withUnsafeGuaranteedRef { $0.reaches(shared) } })
            {
                report(call, .passUnretained(target), holder, shared: shared)
            }
            // The targets of a queue that `GCD` did not make.
            let isHeldIfBelow = shared === target ? shared.width != .concurrent : shared.width == .serial
            if isHeldIfBelow, let holder = innermost(where: { _ in true }),
                !holder._withUnsafeGuaranteedRef(\.isTargetKnown), shared.isBelowCurrentQueue
            {
                report(call, .passUnretained(target), holder, shared: shared)
            }
            wanted = shared.target
        }
    }

    private func isSame(_ one: Unmanaged<QueueTag>?, _ other: Unmanaged<QueueTag>?) -> Bool {
        one?.toOpaque() == other?.toOpaque() && one != nil
    }

    @inline(__always)
    private func innermost(where isSought: (Unmanaged<QueueTag>) -> Bool) -> Unmanaged<QueueTag>? {
        if let caller, isSought(caller) { return caller }
        return EnteredQueues.first(where: isSought)
    }

    private func report(
        _ call: StaticString,
        _ target: Unmanaged<QueueTag>,
        _ holder: Unmanaged<QueueTag>,
        shared: QueueTag
    ) -> Never {
        let (target, holder) = (target.takeUnretainedValue(), holder.takeUnretainedValue())
        let entered = EnteredQueues.current + (caller.map { [$0.takeUnretainedValue()] } ?? [])
        let way = entered[entered.firstIndex { $0 === holder }!...] + [target]
        var held = "has entered \(holder.quoted) already"
        if shared !== holder {
            held = "has entered \(holder.quoted) and with it its serial target \(shared.quoted)"
        }
        if shared !== target { held += ", which \(target.quoted) targets too" }
        let sentence =
            "would wait for itself: this thread is running on \(entered[entered.count - 1].quoted) and \(held) "
            + "(\(way.map(\.quoted).joined(separator: " → "))), so the work could never start; "
            + "call it directly or use async"
        misuse("\(call)", "on: \(target.quoted)", sentence)
    }
}
