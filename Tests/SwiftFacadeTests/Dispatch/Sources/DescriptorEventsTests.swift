// SPDX-License-Identifier: Apache-2.0
//
// The readiness of descriptors: when an event comes, which is the last, and that the descriptor is let go of.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations

/// The two ends of a pipe or a pair of sockets, both without blocking. They are closed with the object.
final class Ends: Sendable {
    let first: Int32
    let second: Int32
    private let open: VisibleMutex<Set<Int32>>

    init(sockets: Bool = false) {
        var ends: [Int32] = [-1, -1]
        let answer = sockets ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)
        precondition(answer == 0)
        for end in ends { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
        (first, second) = (ends[0], ends[1])
        open = VisibleMutex(Set(ends))
    }

    deinit { for end in open.withLock({ $0 }) { Glibc.close(end) } }

    func close(_ end: Int32) {
        open.withLock { open in if open.remove(end) != nil { Glibc.close(end) } }
    }

    /// Writes `count` bytes to the second; how many went.
    @discardableResult
    func send(_ count: Int = 1) -> Int { write(second, [UInt8](repeating: 7, count: count), count) }

    /// Reads from the first; 0 at the end, -1 where there is nothing.
    func receive(_ limit: Int = 4096) -> Int {
        var bytes = [UInt8](repeating: 0, count: limit)
        return read(first, &bytes, limit)
    }

    /// Fills the second.
    func fill() { while send(4096) > 0 {} }
}
// contract: DescriptorEvent, DescriptorEvents, DescriptorUnavailable, GCD
@Suite(.timeLimit(.minutes(10))) struct DescriptorEventsTests {
    // MARK: Readiness

    @Test(arguments: [false, true])
    func aLoopReadsWhatComesAndEndsWithTheOtherSide(sockets: Bool) async throws {
        let ends = Ends(sockets: sockets)
        let (read, events) = (Handshake(), try GCD.readable(ends.first))
        let task = Task {
            var sizes: [Int] = []
            var received: [DescriptorEvent] = []
            for try await event in events {
                received.append(event)
                sizes.append(ends.receive(10))
                read.give()
            }
            return (sizes, received)
        }
        ends.send(4)
        await read.taken()
        ends.send(25)
        await read.taken(3)
        ends.close(ends.second)
        let (sizes, received) = try await task.value
        #expect(sizes == [4, 10, 10, 5, 0])
        #expect(received.map(\.isEndOfFile) == [false, false, false, false, true])
        #expect(received.allSatisfy { $0.descriptor == ends.first && !$0.hasError })
        try await events.finished()
    }

    // The other side closes at once; nothing of what it wrote is lost.
    @Test(arguments: [false, true])
    func whatIsLeftIsAnnouncedBeforeTheEnd(sockets: Bool) async throws {
        let ends = Ends(sockets: sockets)
        ends.send(25)
        ends.close(ends.second)
        var (sizes, last): ([Int], [Bool]) = ([], [])
        for try await event in try GCD.readable(ends.first) {
            sizes.append(ends.receive(10))
            last.append(event.isEndOfFile)
        }
        #expect(sizes == [10, 10, 5, 0] && last == [false, false, false, true])
    }

    @Test func noEventIsKeptAndNoneComesWhileTheLoopRuns() async throws {
        let ends = Ends()
        let watch = try DescriptorWatch(ends.first, for: .reading)
        let iterator = DescriptorEvents(watch).makeAsyncIterator()
        let other = try GCD.readable(ends.first).makeAsyncIterator()
        ends.send()
        #expect(try await iterator.next() != nil)
        #expect(try await iterator.next() != nil, "it is still readable")
        for _ in 0..<20 {
            ends.send()
            #expect(try await other.next() != nil, "the system tells those that ask")
            #expect(watch.mailbox.waiting.isEmpty)
        }
        #expect(ends.receive() == 21)
        // The loop asks when there is nothing left to read: the event of before is not delivered.
        let ended = Counter()
        let asked = Task {
            defer { ended.increment() }
            return try await iterator.next()
        }
        await eventually("it waits, or has ended") { watch.mailbox.isAwaited || ended.value == 1 }
        asked.cancel()
        #expect(try await asked.value == nil)
    }

    @Test func aFullPipeIsWritableWhenItIsRead() async throws {
        let ends = Ends()
        ends.fill()
        let events = try GCD.writable(ends.second)
        let waiter = Task { try await events.makeAsyncIterator().next() }
        while ends.receive(4096) > 0 {}
        #expect(try await waiter.value == DescriptorEvent(descriptor: ends.second))
        #expect(ends.send() == 1)
    }

    // A pipe whose reader has gone has an error and is not ready, which a source of libdispatch does not tell.
    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func aWriterLearnsThatItsReaderHasGone(sockets: Bool, isFull: Bool) async throws {
        let ends = Ends(sockets: sockets)
        if isFull { ends.fill() }
        let events = try GCD.writable(ends.second)
        ends.close(ends.first)
        var received: [DescriptorEvent] = []
        for try await event in events { received.append(event) }
        #expect(received.count == 1 && received[0].isEndOfFile)
        #expect(sockets || received[0].hasError)
        try await events.finished()
    }

    @Test func oneDescriptorMayBeReadAndWrittenAndByTwo() async throws {
        let ends = Ends(sockets: true)
        let (one, two) = (try GCD.readable(ends.first), try GCD.readable(ends.first))
        let writable = try GCD.writable(ends.first)
        ends.send()
        for events in [one, two, writable] {
            #expect(try await events.makeAsyncIterator().next()?.descriptor == ends.first)
        }
    }

    @Test func twoTasksOfOneSequenceEachGetAnEvent() async throws {
        let ends = Ends()
        let events = try GCD.readable(ends.first)
        let kept = events.makeAsyncIterator()
        let tasks = (0..<2).map { _ in Task { try await events.makeAsyncIterator().next() } }
        ends.send()
        for task in tasks { #expect(try await task.value != nil) }
        #expect(try await kept.next() != nil)
    }

    @Test(arguments: ["/dev/null", "/dev/zero", "/etc/passwd"])
    func whatCannotBlockIsAlwaysReady(path: String) async throws {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        let events = try GCD.readable(file)
        let iterator = events.makeAsyncIterator()
        for _ in 0..<3 { #expect(try await iterator.next() == DescriptorEvent(descriptor: file)) }
        #expect(events.cancel())
        #expect(try await iterator.next() == nil)
        try await events.finished()
    }

    // MARK: Descriptors that cannot be

    @Test func aDescriptorThatCannotBeWaitedForIsRefused() {
        let ends = Ends()
        let folder = open("/", O_RDONLY)
        defer { close(folder) }
        let closed = fcntl(folder, F_DUPFD, 900)
        close(closed)
        for (descriptor, code) in [(-1, EBADF), (closed, EBADF), (ends.second, EBADF), (folder, EISDIR)] {
            #expect(throws: DescriptorUnavailable(descriptor: descriptor, code: code)) {
                try GCD.readable(descriptor)
            }
        }
        for (descriptor, code) in [(closed, EBADF), (ends.first, EBADF)] {
            #expect(throws: DescriptorUnavailable(descriptor: descriptor, code: code)) {
                try GCD.writable(descriptor)
            }
        }
        let sentence = "descriptor \(closed) cannot be waited for: Bad file descriptor"
        #expect("\(DescriptorUnavailable(descriptor: closed, code: EBADF))" == sentence)
    }

    // The number stands for another file by then.
    @Test(arguments: [false, true])
    func aDescriptorThatWasClosedTooEarlyIsReported(isReused: Bool) async throws {
        let (ends, others) = (Ends(), Ends())
        let number = fcntl(ends.first, F_DUPFD, 950 + (isReused ? 1 : 0))
        let events = try GCD.readable(number)
        let iterator = events.makeAsyncIterator()
        ends.send()
        #expect(try await iterator.next() != nil)
        close(number)
        ends.close(ends.first)
        if isReused { dup2(others.first, number) }
        await #expect(throws: DescriptorUnavailable(descriptor: number, code: EBADF)) {
            try await iterator.next()
        }
        #expect(try await iterator.next() == nil, "it has ended")
        try await events.finished()
        if isReused { #expect(close(number) == 0, "not closed by the sequence") }
    }

    // MARK: The end

    // The iterator is kept: it is not its end that ends the sequence.
    @Test func aCancelledTaskEndsTheSequence() async throws {
        let ends = Ends()
        let events = try GCD.readable(ends.first)
        let kept = events.makeAsyncIterator()
        let task = Task {
            for try await _ in events {}
            // Throws, in a cancelled task, unless the end has come.
            try await events.finished()
            return events.cancel()
        }
        task.cancel()
        #expect(try await task.value == false)
        ends.close(ends.first)
        #expect(try await kept.next() == nil)
    }

    @Test func theSequenceEndsWithItsLastIterator() async throws {
        let ends = Ends()
        let events = try GCD.readable(ends.first)
        do {
            let first = events.makeAsyncIterator()
            do {
                let second = events.makeAsyncIterator()
                ends.send()
                #expect(try await second.next() != nil)
            }
            #expect(try await first.next() != nil, "another is left")
        }
        try await events.finished()
        #expect(!events.cancel())
        #expect(try await events.makeAsyncIterator().next() == nil)
    }

    @Test func whatIsDroppedHasLetGoOfItsDescriptor() async throws {
        let ends = Ends()
        let watch = try DescriptorWatch(ends.first, for: .reading)
        do { _ = DescriptorEvents(watch) }
        await watch.mailbox.ended()
        #expect(!watch.end())
    }

    @Test func cancellingEndsAWaitAndDropsWhatWasNotTaken() async throws {
        let ends = Ends()
        let events = try GCD.readable(ends.first)
        let waiter = Task { try await events.makeAsyncIterator().next() }
        #expect(try await events.finished(timeout: .milliseconds(2)) == false)
        #expect(try await events.finished(timeout: .zero) == false)
        #expect(events.cancel() && !events.cancel())
        #expect(try await waiter.value == nil)
        #expect(try await events.finished(timeout: .seconds(600)))
        let cancelledWait = Task {
            await untilCancelled()
            try await GCD.readable(ends.first).finished()
        }
        cancelledWait.cancel()
        await #expect(throws: CancellationError.self) { try await cancelledWait.value }
    }

    /// Bytes, the end of the other side, cancellations and closing race; after the end the descriptor is free.
    @Test func endsThatRaceLetGoOfTheDescriptor() async throws {
        for round in 0..<500 {
            let ends = Ends(sockets: round.isMultiple(of: 2))
            let events = try GCD.readable(ends.first)
            let task = Task {
                var read = 0
                for try await _ in events { read += max(0, ends.receive(3)) }
                return read
            }
            await blocking {
                onThreads(2) { thread in
                    if thread == 0 {
                        ends.send(8)
                        ends.close(ends.second)
                    } else if round % 3 == 0 {
                        events.cancel()
                    } else if round % 3 == 1 {
                        task.cancel()
                    }
                }
            }
            let read = try await task.value
            try await events.finished()
            #expect(round % 3 == 2 ? read == 8 : read <= 8)
            ends.close(ends.first)
        }
    }
}
