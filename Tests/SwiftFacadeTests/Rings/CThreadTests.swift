// SPDX-License-Identifier: Apache-2.0
//
// Scenario 26: a POSIX thread that calls C functions only pushes through a ring's handle, and Swift consumes.

import CInterlock
import Foundation
import Interlock
import Testing

@Suite struct CThreadTests {
    static let count = 20_000

    /// The context must outlive the thread.
    private func startThread(
        _ context: UnsafeMutableRawPointer,
        _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    ) throws -> pthread_t {
        var thread = pthread_t()
        try #require(pthread_create(&thread, nil, body, context) == 0)
        return thread
    }

    @Test func whatACThreadPushesArrivesInOrder() throws {
        try SPSCRing<UInt64>(capacity: 128).split { producer, consumer in
            // The producer must exist until the thread has ended.
            let thread = try startThread(producer.unsafeHandle) { context in
                let ring = context!.assumingMemoryBound(to: ilk_spsc.self)
                var sample: UInt64 = 0
                while sample < UInt64(CThreadTests.count), !ilk_spsc_is_closed(ring) {
                    if ilk_spsc_try_push(ring, &sample, MemoryLayout<UInt64>.stride) {
                        sample += 1
                    } else {
                        sched_yield()
                    }
                }
                ilk_spsc_close(ring)
                return nil
            }
            var expected: UInt64 = 0
            while let sample = try? consumer.pop() {
                guard sample == expected else {
                    Issue.record("\(sample) instead of \(expected)")
                    break
                }
                expected += 1
            }
            // Or the thread would go on pushing into a full ring.
            consumer.close()
            pthread_join(thread, nil)
            #expect(expected == UInt64(CThreadTests.count))
            withExtendedLifetime(producer.capacity) {}
        }
    }

    @Test func whatSwiftPushesReachesACThread() throws {
        struct Exchange {
            var ring: UnsafeMutablePointer<ilk_mpmc>
            var sum: UInt64
        }
        let ring = try MPMCRing<UInt64>(capacity: 16)
        let exchange = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
        defer { exchange.deallocate() }
        exchange.initialize(to: Exchange(ring: ring.unsafeHandle, sum: 0))
        let thread = try startThread(exchange) { context in
            let exchange = context!.assumingMemoryBound(to: Exchange.self)
            var value: UInt64 = 0
            while ilk_mpmc_pop_until(exchange.pointee.ring, &value, MemoryLayout<UInt64>.stride, UInt64.max)
                == ILK_OK
            {
                exchange.pointee.sum += value
            }
            return nil
        }
        for value in 1...1_000 as ClosedRange<UInt64> where !ring.push(value).isPushed {
            Issue.record("refused \(value)")
        }
        ring.close()
        pthread_join(thread, nil)
        #expect(exchange.pointee.sum == 500_500)
    }

    @Test(.ownThreads) func anElementOfTheWrongSizeIsReported() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let ring = try MPMCRing<UInt64>(capacity: 1)
            var small: UInt32 = 1
            _ = ilk_mpmc_try_push(ring.unsafeHandle, &small, MemoryLayout<UInt32>.size)
        }
        #expect(result?.report.contains("interlock: ilk_mpmc_try_push(") == true)
    }
}
