// SPDX-License-Identifier: Apache-2.0
//
// The work at which the versions are compared, each piece generic over the version and called with the concrete type,
// so that an optimised build specialises it.

import Foundation
import PureSwift
import Synchronization

enum Contests {
    static var all: [Contest] { arrays + locks + semaphores + rings }
}

// MARK: - Arrays

extension Contests {
    private enum ArrayWork: String, CaseIterable {
        case read = "array: read an element, 1 thread"
        case readTogether = "array: read an element, 2 threads"
        case append = "array: append, 1 thread"
        case mixed = "array: 1 % writes, 2 threads"
    }

    static var arrays: [Contest] {
        ArrayWork.allCases.map { work in
            Contest(
                title: work.rawValue,
                core: entrant("C-backed", CoreArray<Int>.self, work),
                others: [
                    entrant("barrier queue", BarrierQueueArray<Int>.self, work),
                    entrant("serial queue", SerialQueueArray<Int>.self, work),
                    entrant("Mutex", MutexArray<Int>.self, work),
                ]
            )
        }
    }

    private static func entrant<Version: ConformanceArray>(
        _ name: String,
        _: Version.Type,
        _ work: ArrayWork
    ) -> Entrant where Version.Element == Int {
        Entrant(name: name) { time in
            let array = Version(Array(0..<1_000))
            let threads = work == .readTogether || work == .mixed ? 2 : 1
            return together(threads) { _ in
                switch work {
                case .read, .readTogether:
                    repeating(for: time) { _ = array.element(at: $0 % 1_000) }
                case .append:
                    repeating(for: time) { count in
                        array.append(count)
                        // Bounds the memory, and waits for asynchronous appends.
                        if count % 1_024 == 1_023 { array.removeAll { _ in true } }
                    }
                case .mixed:
                    repeating(for: time) { count in
                        if count % 100 == 0 {
                            array[count % 1_000] = count
                        } else {
                            _ = array.element(at: count % 1_000)
                        }
                    }
                }
            }
        }
    }
}

// MARK: - Reader–writer locks

extension Contests {
    private enum LockWork: String, CaseIterable {
        case read = "rwlock: read, 1 thread"
        case readTogether = "rwlock: read, 2 threads"
        case write = "rwlock: write, 1 thread"
        case mostlyRead = "rwlock: 1 % writes, 2 threads"
        case halfWrite = "rwlock: 50 % writes, 2 threads"
    }

    static var locks: [Contest] {
        LockWork.allCases.map { work in
            Contest(
                title: work.rawValue,
                core: entrant("C-backed", CoreLock<TwoWords>.self, work),
                others: [entrant("phase-fair over Atomic", PureSwiftLock<TwoWords>.self, work)]
            )
        }
    }

    private struct TwoWords: Sendable {
        var first = 0
        var second = 0
    }

    private static func entrant<Version: ConformanceLock>(
        _ name: String,
        _: Version.Type,
        _ work: LockWork
    ) -> Entrant where Version.Value == TwoWords {
        let threads = work == .read || work == .write ? 1 : 2
        let writeEvery =
            switch work {
            case .read, .readTogether: Int.max
            case .write: 1
            case .mostlyRead: 100
            case .halfWrite: 2
            }
        return Entrant(name: name) { time in
            let lock = Version(TwoWords())
            return together(threads) { thread in
                // Threads write at different times.
                repeating(for: time) { count in
                    if (count &+ thread &* 50 &+ 1) % writeEvery == 0 {
                        lock.writing {
                            $0.first &+= 1
                            $0.second &-= 1
                        }
                    } else if lock.reading({ $0.first &+ $0.second }) != 0 {
                        fatalError("\(name): a read saw half a write")
                    }
                }
            }
        }
    }
}

// MARK: - Semaphores

extension Contests {
    static var semaphores: [Contest] {
        [("semaphore: wait and signal, 1 thread", 1, 1), ("semaphore: 1 permit, 2 threads", 1, 2)]
            .map { title, permits, threads in
                Contest(
                    title: title,
                    core: entrant("C-backed", CoreSemaphore.self, permits, threads),
                    others: [entrant("FIFO over Mutex", MutexFIFOSemaphore.self, permits, threads)]
                )
            }
    }

    private static func entrant<Version: ConformanceSemaphore>(
        _ name: String,
        _: Version.Type,
        _ permits: Int,
        _ threads: Int
    ) -> Entrant {
        Entrant(name: name) { time in
            let semaphore = Version(permits: permits)
            return together(threads) { _ in
                repeating(for: time) { _ in
                    semaphore.wait()
                    semaphore.signal(1)
                }
            }
        }
    }
}

// MARK: - Rings

extension Contests {
    private enum RingWork: String, CaseIterable {
        case alone = "push and pop, 1 thread"
        case trying = "try, 1 to 1"
        case waiting = "wait, 1 to 1"
        case many = "wait, 2 to 2"
    }

    static var rings: [Contest] {
        [RingWork.alone, .trying, .waiting].map { work in
            Contest(
                title: "SPSC: \(work.rawValue)",
                core: entrant("C-backed", CoreSPSCRing<Int>.self, work),
                others: [entrant("cached indices over Atomic", AtomicSPSCRing<Int>.self, work)]
            )
        }
            + RingWork.allCases.map { work in
                Contest(
                    title: "MPMC: \(work.rawValue)",
                    core: entrant("C-backed", CoreMPMCRing<Int>.self, work),
                    others: [entrant("slot sequences over Atomic", AtomicMPMCRing<Int>.self, work)]
                )
            }
    }

    private static func entrant<Version: ConformanceRing>(
        _ name: String,
        _: Version.Type,
        _ work: RingWork
    ) -> Entrant where Version.Element == Int {
        Entrant(name: name) { time in
            let ring = Version(capacity: 1_024)
            if work == .alone {
                return together(1) { _ in
                    repeating(for: time) { count in
                        guard ring.tryPush(count), ring.tryPop() == count else { fatalError("\(name): lost") }
                    }
                }
            }
            let producers = work == .many ? 2 : 1
            let toFinish = Atomic<Int>(producers)
            return together(2 * producers) { thread in
                // What counts is what comes out.
                if thread >= producers { return drain(ring, work == .trying) }
                _ = repeating(for: time) { count in
                    if work != .trying {
                        _ = ring.push(count, until: nil)
                    } else {
                        while !ring.tryPush(count) { Thread.yield() }
                    }
                }
                if toFinish.subtract(1, ordering: .relaxed).newValue == 0 { ring.close() }
                return 0
            }
        }
    }

    private static func drain(_ ring: some ConformanceRing<Int>, _ trying: Bool) -> Int {
        var popped = 0
        while trying {
            let wasClosed = ring.isClosed
            if ring.tryPop() != nil {
                popped += 1
            } else if wasClosed {
                return popped
            } else {
                Thread.yield()
            }
        }
        while case .element = ring.pop(until: nil) { popped += 1 }
        return popped
    }
}
