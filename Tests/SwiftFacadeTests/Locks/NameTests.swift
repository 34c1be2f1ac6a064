// SPDX-License-Identifier: Apache-2.0
//
// What reports call an object: its address, and its name from Swift.

import CInterlock
import Testing

import Interlock
@testable import InterlockSync
// contract: ReadWriteLock
@Suite struct NameTests {
    @Test func objectsAnswerWithTheNameThatTheyWereMadeWith() {
        #expect(ReadWriteLock(1, name: "rates").name == "rates")
        #expect(ReadWriteLock<Void>(name: "elsewhere").name == "elsewhere")
        #expect(SharedReadWriteLock(1, name: "visits").lock.name == "visits")
        #expect(FIFOSemaphore(permits: 1, name: "downloads").name == "downloads")
        #expect(Latch(count: 1, name: "ready").name == "ready")
        #expect(Barrier(parties: 2, name: "step").name == "step")
        #expect(PriorityInheritingMutex(1, name: "levels").name == "levels")
        #expect(AsyncMutex(1, name: "sessions").name == "sessions")

        #expect(ReadWriteLock(1).name == nil)
        #expect(SharedReadWriteLock(1).lock.name == nil)
        #expect(FIFOSemaphore(permits: 1).name == nil)
        #expect(Latch(count: 1).name == nil)
        #expect(Barrier(parties: 2).name == nil)
        #expect(PriorityInheritingMutex(1).name == nil)
        #expect(AsyncMutex(1).name == nil)
        #expect(
            ReadWriteLock(1, name: String(repeating: "long", count: 30)).name?.utf8.count == 63,
            "as much as C keeps"
        )
    }

    @Test func aNameThatDoesNotFitCIsKeptAsFarAsItDoes() {
        let umlauts = ReadWriteLock(1, name: String(repeating: "ä", count: 40))
        let kept = umlauts.name
        #expect(kept == String(repeating: "ä", count: 31))
        let halves = SharedReadWriteLock(1, name: "left\0right")
        #expect(halves.lock.name == "left␀right")
    }

    @Test func aNameGoesWithItsObject() {
        func expectForgotten(_ address: UnsafeRawPointer) {
            #expect(name(of: address) == nil)
        }
        var addresses: [UnsafeRawPointer] = []
        do {
            let lock = ReadWriteLock(1, name: "gone")
            let semaphore = FIFOSemaphore(permits: 1, name: "gone")
            let latch = Latch(count: 1, name: "gone")
            let mutex = PriorityInheritingMutex(1, name: "gone")
            addresses.append(UnsafeRawPointer(lock.storage.base))
            addresses.append(UnsafeRawPointer(mutex.storage.storage.base))
            for address in addresses { #expect(name(of: address) == "gone") }
            withExtendedLifetime((semaphore, latch)) {}
        }
        for address in addresses { expectForgotten(address) }
        // A new object at a known address has no name.
        for _ in 0..<100 {
            let named = Latch(count: 1, name: "gone")
            #expect(named.name == "gone")
        }
        for _ in 0..<100 { #expect(Latch(count: 1).name == nil && FIFOSemaphore(permits: 1).name == nil) }
    }

    static let misuses = [
        Misuse("interlock: FIFOSemaphore.signal(0x", " \"downloads\"): -1 permits") {
            FIFOSemaphore(permits: 1, name: "downloads").signal(-1)
        },
        Misuse(" \"ready\"): ") { Latch(count: 0, name: "ready").countDown() },
        Misuse(" \"rates\"): ") {
            let lock = ReadWriteLock(0, name: "rates")
            lock.unsafeView.unlockForWriting()
        },
        Misuse("interlock: Barrier.init(\"step\"): 0 parties") { _ = Barrier(parties: 0, name: "step") },
    ]

    @Test(.serialized, .ownThreads, arguments: misuses.indices)
    func reportsOfTheFacadeAndOfTheCoreGiveTheName(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await NameTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }

    /// The address that a debugger shows, not a hash that differs from run to run.
    @Test func anObjectWithoutANameIsToldByItsAddress() {
        let object = LifetimeCounter()
        let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
        #expect(misuseName(nil, of: object) == "LifetimeCounter 0x" + String(address, radix: 16))
        #expect(misuseName("", of: object) == misuseName(nil, of: object))
        #expect(misuseName("orders", of: object) == "\"orders\"")
    }
}
