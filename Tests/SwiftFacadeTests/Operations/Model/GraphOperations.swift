// SPDX-License-Identifier: Apache-2.0
//
// The operations of a random graph that are no closures.

import Foundation

import Interlock

struct GraphFailure: Error, Hashable { let node: Int }

/// An operation of Foundation's kind with a `main`.
// Operation is; the subclass adds only what it never changes.
final class GraphForeign: Operation, @unchecked Sendable {
    private let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.body = body
        super.init()
        self.name = name
    }

    override func main() { body() }
}

/// Overrides `execute()`.
// Operation is; the subclass adds only what it never changes.
final class GraphSubclass: AsyncOperation<Int>, @unchecked Sendable {
    typealias Finish = @Sendable (Result<Int, any Error>) -> Bool
    private let body: @Sendable (@escaping Finish) -> Void

    init(_ name: String, _ body: @escaping @Sendable (@escaping Finish) -> Void) {
        self.body = body
        super.init()
        self.name = name
    }

    override func execute() { body { self.finish($0) } }
}

extension Operation {
    func named(_ name: String) -> Self {
        self.name = name
        return self
    }
}

/// A mutex that closures may share.
final class VisibleBox<Value>: Sendable {
    let value = VisibleMutex<Value?>(nil)
}
