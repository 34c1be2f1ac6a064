// SPDX-License-Identifier: Apache-2.0
//
// What the workers of a loop share, driven by hand: the length of runs, what an error stops, what is released.

import Interlock
import Testing

@testable import InterlockPool

@Suite struct LoopControlTests {
    /// A loop of a million, of which two workers take part.
    let loop = LoopControl("loop", 1_000_000, 2)

    /// The lengths of the runs of one worker, of which each element takes `time` nanoseconds.
    func lengths(_ count: Int, in loop: LoopControl, time: (Int) -> Int) -> [Int] {
        var (pace, now) = (LoopPace(), 1_000_000_000 as UInt64)
        var lengths: [Int] = []
        while lengths.count < count, let run = loop.take(&pace, at: now) {
            lengths.append(run.count)
            now += UInt64(run.reduce(0) { $0 + time($1) })
        }
        return lengths
    }

    @Test func elementsThatTakeLongAreHandedOutOneByOne() {
        #expect(lengths(100, in: loop) { _ in 5_000 } == Array(repeating: 1, count: 100))
    }

    @Test func theRunsOfLightElementsGrowToAboutTwoMicrosecondsAWorker() {
        let lengths = lengths(50, in: loop) { _ in 10 }
        #expect(lengths.prefix(9) == [1, 2, 4, 8, 16, 32, 64, 128, 256])
        #expect(lengths.dropFirst(9).allSatisfy { $0 == 400 })
    }

    @Test func aRunIsShortAfterOneThatTookLong() {
        let lengths = lengths(60, in: loop) { $0 < 10_000 ? 10 : 100_000 }
        #expect(lengths.contains(400) && lengths.suffix(20).allSatisfy { $0 == 1 })
    }

    @Test func aRunIsAtMostAnEighthOfAnEvenShareOfWhatIsLeft() {
        let loop = LoopControl("loop", 1_000, 2)
        var left = 1_000
        for length in lengths(.max, in: loop, time: { _ in 1 }) {
            #expect(length <= max(1, left / 16))
            left -= length
        }
        #expect(left == 0, "each is handed out")
        #expect(loop.isComplete)
    }

    @Test func aLoopOfAnyLengthIsHandedOut() {
        // The body is empty: no run takes any time.
        let loop = LoopControl("loop", .max, 2)
        var (pace, next) = (LoopPace(), 0)
        while let run = loop.take(&pace, at: 1) {
            #expect(run.lowerBound == next)
            next = run.upperBound
        }
        #expect(next == .max)
        let wide = LoopControl("loop", .max, .max)
        pace = LoopPace()
        #expect(wide.take(&pace, at: 1) == 0..<1 && wide.take(&pace, at: 1) == 1..<2)
    }

    /// The elements of a run that have begun. The fifth throws.
    func begun(_ run: Range<Int>) -> [Int] {
        var begun: [Int] = []
        loop.forEach(in: run, of: 0..<1_000_000) { element, position throws(JobFailure) in
            #expect(element == position)
            begun.append(element)
            if element == 5 { throw JobFailure() }
        }
        return begun
    }

    @Test func whatIsBeforeAnErrorStillRuns() {
        #expect(begun(3..<9) == [3, 4, 5], "throws at 5")
        #expect(begun(0..<3) == [0, 1, 2])
        #expect(begun(9..<12) == [])
        #expect(throws: JobFailure()) { try loop.throwFailure(JobFailure.self) }
    }

    @Test func nothingBeginsAfterACancellation() {
        loop.cancel()
        #expect(begun(0..<3) == [])
        var pace = LoopPace()
        #expect(loop.take(&pace) == nil)
        #expect(throws: CancellationError.self) { try loop.throwFailure((any Error).self) }
    }

    @Test func aCancellationIsAnErrorOnlyWhereItKeptAnElementFromBeginning() throws {
        let loop = LoopControl("loop", 1, 1)
        var pace = LoopPace()
        #expect(loop.take(&pace) == 0..<1)
        loop.cancel()
        try loop.throwFailure((any Error).self)
    }

    @Test func anErrorComesBeforeACancellation() {
        #expect(begun(3..<9) == [3, 4, 5])
        loop.cancel()
        #expect(throws: JobFailure()) { try loop.throwFailure((any Error).self) }
    }

    // handed out   0 to 99
    // abandoned         10 to 19              50 to 99      in another order
    @Test func theOutputsThatAreThereAreReleased() {
        let (alive, freed) = (Counter(), Counter())
        let loop = LoopControl("loop", 100, 1)
        let memory = UnsafeMutablePointer<Tracked>.allocate(capacity: 100)
        defer { memory.deallocate() }
        let outputs = LoopOutputs(memory)
        var pace = LoopPace()
        while loop.take(&pace) != nil {}
        for position in 0..<50 where !(10..<20).contains(position) {
            outputs.put(Tracked(alive: alive, freed: freed), at: position)
        }
        loop.abandon(50..<100)
        loop.abandon(10..<20)
        #expect(!loop.isComplete)
        loop.release(outputs)
        #expect(alive.value == 40 && freed.value == 40)
    }
}
