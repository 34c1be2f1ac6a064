// SPDX-License-Identifier: Apache-2.0
//
// The state machine of a piece of work, once for light jobs and operations: a plain value without locks, threads or
// notifications. A `JobNode` owns one under the lock of its stripe, an operation (`OperationRecord`) under its own
// lock. docs/operations.md says what moves it, and which outcomes of two threads must not happen.
//
//     waiting ──▶ listed ⇄ submitted ──▶ running ──▶ ended
//        │                                ▲   ▲
//        └──▶ starting ──────────────────┘   │            an operation, which Foundation's `start` begins
//                └──▶ admitting ─────────────┘
//
//     waiting, listed, submitted, admitting ──▶ ended      refused, or cancelled before its work

package struct WorkState: Sendable {
    package enum Phase: UInt8, CaseIterable, Sendable {
        /// It waits for dependencies, or for its barrier's turn.
        case waiting
        /// Its queue has it in a list, and may not start it now.
        case listed
        /// The pool has it.
        case submitted
        /// An operation was started, and its beginning is being announced. It does not end in this phase: the beginning
        /// is announced before the end.
        case starting
        /// An operation waits, without a thread, for what comes before its work.
        case admitting
        /// Its work has begun.
        case running
        /// It has its result.
        case ended
    }

    package private(set) var phase = Phase.waiting
    package private(set) var isCancelled = false

    package init() {}

    package var hasEnded: Bool { phase == .ended }

    /// The phases that may follow `phase`: the arrows of the drawing.
    package static func successors(of phase: Phase) -> [Phase] {
        switch phase {
        case .waiting: [.listed, .submitted, .starting, .ended]
        case .listed: [.submitted, .ended]
        case .submitted: [.listed, .running, .ended]
        case .starting: [.admitting, .running]
        case .admitting: [.running, .ended]
        case .running: [.ended]
        case .ended: []
        }
    }

    @inline(__always)
    package mutating func move(to next: Phase) {
        assert(Self.successors(of: phase).contains(next), "work that is \(phase) does not become \(next)")
        phase = next
    }

    /// In which part of its life a piece of work was cancelled: what the caller does follows from it.
    package enum Cancel {
        /// It has ended, or was cancelled before.
        case ignored
        case beforeStart
        /// It is in `admitting`: no work is there that could be asked to stop, and the canceller ends it.
        case beforeWork
        case duringWork
    }

    package mutating func cancel() -> Cancel {
        if hasEnded || isCancelled { return .ignored }
        isCancelled = true
        return switch phase {
        case .waiting, .listed, .submitted, .starting: .beforeStart
        case .admitting: .beforeWork
        case .running, .ended: .duringWork
        }
    }
}
