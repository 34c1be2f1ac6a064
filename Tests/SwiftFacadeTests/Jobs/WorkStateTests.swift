// SPDX-License-Identifier: Apache-2.0
//
// The state machine of work as a value: every way through it, and what a cancellation means at each place.

import InterlockPool
import Testing

// contract: InterlockQueue, Job, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct WorkStateTests {
    private typealias Phase = WorkState.Phase

    /// The state after these moves.
    private static func state(after phases: [Phase]) -> WorkState {
        var state = WorkState()
        for phase in phases { state.move(to: phase) }
        return state
    }

    /// All ways from `waiting` that visit no phase twice.
    private static func ways(_ way: [Phase] = [.waiting]) -> [[Phase]] {
        let next = WorkState.successors(of: way.last!).filter { !way.contains($0) }
        return [way] + next.flatMap { ways(way + [$0]) }
    }

    @Test func everyWayEndsInTheOnePhaseThatNothingFollows() {
        let ways = Self.ways()
        #expect(Set(ways.compactMap(\.last)) == Set(Phase.allCases))
        for phase in Phase.allCases {
            #expect(WorkState.successors(of: phase).isEmpty == (phase == .ended))
            // Nothing returns to the beginning, and what runs only ends.
            #expect(!WorkState.successors(of: phase).contains(.waiting))
        }
        #expect(WorkState.successors(of: .running) == [.ended])
        // The beginning is announced before the end.
        #expect(!WorkState.successors(of: .starting).contains(.ended))
    }

    @Test func aCancellationCountsOnceAndSaysWhereItCame() {
        for way in Self.ways() {
            var state = Self.state(after: Array(way.dropFirst()))
            let expected: WorkState.Cancel =
                switch way.last! {
                case .waiting, .listed, .submitted, .starting: .beforeStart
                case .admitting: .beforeWork
                case .running: .duringWork
                case .ended: .ignored
                }
            #expect(state.cancel() == expected, "\(way)")
            #expect(state.isCancelled == (expected != .ignored))
            #expect(state.cancel() == .ignored)
            #expect(state.phase == way.last!)
        }
    }

    @Test(.ownThreads) func aMoveThatIsNotDrawnIsNoticed() async {
        #if DEBUG
        await #expect(processExitsWith: .failure) {
            var state = WorkState()
            state.move(to: .running)
        }
        #else
        print("skipped: assertions are compiled out")
        #endif
    }
}
