// SPDX-License-Identifier: Apache-2.0
//
// The operations that a group or a scope waits for, from their addition to their end. A plain account under one lock;
// its owner starts, cancels and ends. Under that lock nothing else runs but what the owner keeps of a new child.
//
//     gathering ──begin──▶ running ──last child ends──▶ ended
//         └──abandon──▶ abandoned ──begin, none left──▶ ended
//
// `close` refuses further children in any stage. One call answers that the last child has ended: `begin`, where there
// is none, or `remove`.

import Foundation
import InterlockPool
import InterlockSync

/// With `starts` the owner starts the child now; otherwise `ChildLedger.begin` lists it.
struct Admission { var refusal: ChildRefused.Reason?, starts = false }

final class ChildLedger: Sendable {
    struct Failure { var number: Int, error: any Error }

    /// What the end of a child means to the owner. `cancelsOthers`: a failure after which nothing further is to run.
    struct Removal { var cancelsOthers = false, isLast = false }

    fileprivate struct State {
        var unfinished: [ObjectIdentifier: (number: Int, child: Operation)] = [:]
        var added = 0
        var isOpen = true
        var hasBegun = false
        /// Something else than a child keeps the owner from ending.
        var isHeld = false
        var isAbandoned = false
        var hasEnded = false
        /// The first in time, and the first in the order of addition.
        var failures: (first: Failure, earliest: Failure)?
    }

    private let state = VisibleMutex(State())
    private let policy: FailurePolicy

    init(_ policy: FailurePolicy) { self.policy = policy }

    /// Takes a child, or says why not.
    ///
    /// - Parameter keep: what the owner keeps of a child that was taken, before anything can start it.
    func admit(_ child: Operation, _ keep: () -> Void = {}) -> Admission {
        state.withLock { state in
            if !state.isOpen { return Admission(refusal: .isEnding) }
            if state.unfinished[ObjectIdentifier(child)] != nil { return Admission(refusal: .isChild) }
            state.unfinished[ObjectIdentifier(child)] = (state.added, child)
            state.added += 1
            keep()
            return Admission(starts: state.hasBegun)
        }
    }

    /// The owner runs: its children are to be started, unless they were abandoned. With `holding` it does not end
    /// before `release`.
    func begin(holding: Bool = false) -> (children: [Operation], isLast: Bool) {
        state.withLock { state in
            state.hasBegun = true
            state.isHeld = holding
            return (state.isAbandoned ? [] : state.children, state.endsNow())
        }
    }

    /// The owner does not run, and its children never will: the owner ends them. Nil where it has begun.
    func abandon() -> [Operation]? {
        state.withLock { state in
            state.isOpen = false
            if state.hasBegun || state.isAbandoned { return nil }
            state.isAbandoned = true
            return state.children
        }
    }

    /// Refuses further children.
    func close() { state.withLock { $0.isOpen = false } }

    /// Refuses further children; the whole fails with `CancellationError`, unless it has failed or ended.
    func closeCancelled() {
        state.withLock { state in
            state.isOpen = false
            if !state.hasEnded { state.note(Failure(number: -1, error: CancellationError())) }
        }
    }

    /// What `begin` held, ended, well or with `error`.
    func release(error: (any Error)?) -> Removal {
        state.withLock { state in
            state.isHeld = false
            if let error {
                state.isOpen = false
                state.note(Failure(number: .max, error: error))
            }
            return Removal(cancelsOthers: error != nil, isLast: state.endsNow())
        }
    }

    /// The child has ended, well or with `error`.
    func remove(_ child: Operation, error: (any Error)?) -> Removal {
        state.withLock { state in
            guard let (number, _) = state.unfinished.removeValue(forKey: ObjectIdentifier(child)) else {
                return Removal()
            }
            var cancelsOthers = false
            if let error {
                cancelsOthers = policy == .cancelOthers && state.failures == nil
                if cancelsOthers { state.isOpen = false }
                state.note(Failure(number: number, error: error))
            }
            return Removal(cancelsOthers: cancelsOthers, isLast: state.endsNow())
        }
    }

    /// The error of the whole, by the policy.
    var error: (any Error)? {
        state.withLock { state in
            policy == .cancelOthers ? state.failures?.first.error : state.failures?.earliest.error
        }
    }

    /// In the order of addition.
    var unfinished: [Operation] { state.withLock { $0.children } }

    func contains(_ child: Operation) -> Bool {
        state.withLock { $0.unfinished[ObjectIdentifier(child)] != nil }
    }

    /// The last first: none begins in the place of one before it.
    func cancelAll() { for child in unfinished.reversed() { NestedEnds.run { child.cancel() } } }
}

extension ChildLedger.State {
    fileprivate var children: [Operation] { unfinished.values.sorted { $0.number < $1.number }.map(\.child) }

    fileprivate mutating func note(_ failure: ChildLedger.Failure) {
        let before = failures ?? (failure, failure)
        failures = (before.first, failure.number < before.earliest.number ? failure : before.earliest)
    }

    /// Whether nothing is left to wait for; true once.
    fileprivate mutating func endsNow() -> Bool {
        guard hasBegun, !isHeld, unfinished.isEmpty, !hasEnded else { return false }
        hasEnded = true
        isOpen = false
        return true
    }
}
