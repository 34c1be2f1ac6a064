// SPDX-License-Identifier: Apache-2.0
//
// A server thread that waits for two rings, a semaphore and a timer at a time (`Select`), as serve.c does in C: orders
// and cancellations that clients push, and a request to stop. It writes receipts into a bounded buffer that is a lock
// and a condition (`withWriteLock(when:)`); a task reads them, and sees that each order has been answered once.

import Foundation
import Interlock

/// A buffer of a few places: a writer waits for room, a reader for an element.
struct BoundedBuffer<Element: Sendable>: ~Copyable, Sendable {
    private let elements = ReadWriteLock<[Element]>([])
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// Blocks the thread while the buffer is full.
    func put(_ element: Element) {
        let capacity = capacity
        elements.withWriteLock(when: { $0.count < capacity }) { $0.append(element) }
    }

    /// Suspends the task while the buffer is empty.
    func take() async throws -> Element {
        try await elements.withWriteLock(when: { !$0.isEmpty }) { $0.removeFirst() }
    }
}

struct Order: Sendable {
    let client: Int
    let number: Int
}

/// What the threads and tasks share.
final class Shop: Sendable {
    let orders = try! MPMCRing<Order>(capacity: 64)
    let cancellations = try! MPMCRing<Order>(capacity: 8)
    let stop = FIFOSemaphore(permits: 0)
    /// An order, or `nil` behind the last.
    let receipts = BoundedBuffer<Order?>(capacity: 4)

    /// Serves until it is asked to stop and the rings are drained. Blocks the thread.
    func serve() throws -> (served: Int, cancelled: Int, ticks: Int) {
        var (served, cancelled, ticks) = (0, 0, 0)
        let select = Select()
        select.add(orders) { order in
            served += 1
            self.receipts.put(order)
        }
        select.add(cancellations) { _ in cancelled += 1 }
        select.add(stop) {
            self.orders.close()
            self.cancellations.close()
        }
        var tick = ContinuousClock.now + .milliseconds(1)
        while try select.next(until: tick) != .ended {
            while tick <= .now {
                ticks += 1
                tick += .milliseconds(1)
            }
        }
        receipts.put(nil)
        return (served, cancelled, ticks)
    }
}

@main
enum Main {
    static func main() async throws {
        let (shop, clients, each) = (Shop(), 3, 2_000)
        async let counted = withCheckedThrowingContinuation { ended in
            Thread { ended.resume(with: Result { try shop.serve() }) }.start()
        }
        async let answered = {
            var next = [Int](repeating: 0, count: clients)
            while let order = try await shop.receipts.take() {
                precondition(order.number == next[order.client], "a client's orders are answered in order")
                next[order.client] += 1
            }
            return next
        }()
        await withTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask {
                    for number in 0..<each {
                        _ = await shop.orders.push(Order(client: client, number: number))
                    }
                    _ = await shop.cancellations.push(Order(client: client, number: each))
                }
            }
        }
        shop.stop.signal()
        let (served, cancelled, ticks) = try await counted
        let replies = try await answered
        precondition(replies == [Int](repeating: each, count: clients))
        precondition(served == clients * each && cancelled == clients)
        print("\(served) orders served, \(cancelled) cancelled, each answered once; \(ticks) ticks meanwhile")
    }
}
