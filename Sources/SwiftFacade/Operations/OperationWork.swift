// SPDX-License-Identifier: Apache-2.0
//
// The closure that an operation runs. It is given the operation, which knows the type of its output, so that the record
// needs no type parameter (`OperationRecord.swift`).

import Foundation

struct OperationWork: Sendable {
    /// Whether a cancelled operation ends when its work does and not at once: for closures that occupy a thread or a
    /// task until they return. With an earlier end a serial queue would start the next one beside them.
    let windsDown: Bool
    /// Called once, with the work's operation.
    let run: @Sendable (Operation) -> Void
}

extension AsyncOperation {
    /// The operation that its own record has passed to a closure.
    static func own(_ operation: Operation) -> AsyncOperation<Output> {
        unsafeDowncast(operation, to: AsyncOperation<Output>.self)
    }

    static func handlerWork(_ body: @escaping @Sendable (Completion<Output>) -> Void) -> OperationWork {
        OperationWork(windsDown: false) { body(Completion(own($0))) }
    }

    static func blockWork(_ body: @escaping @Sendable () throws -> Output) -> OperationWork {
        OperationWork(windsDown: true) { own($0).runBlock(body) }
    }

    static func taskWork(
        _ priority: TaskPriority?,
        _ body: @escaping @Sendable () async throws -> Output
    ) -> OperationWork {
        OperationWork(windsDown: true) { own($0).runTask(priority, body) }
    }

    /// The operation ends when the closure has returned, also when cancelled.
    func runBlock(_ body: () throws -> Output) {
        do {
            let value = try body()
            if isCancelled { finish(error: cancellationError) } else { finish(value: value) }
        } catch {
            finish(error: isCancelled ? cancellationError : error)
        }
    }

    /// The task decides when the operation ends, also when cancelled. In a queue of this module it runs on the pool.
    func runTask(_ priority: TaskPriority?, _ body: @escaping @Sendable () async throws -> Output) {
        let priority = priority ?? TaskPriority(qualityOfService)
        let task = Task(executorPreference: node?.taskPool, priority: priority) { [self] in
            do {
                finish(value: try await body())
            } catch is CancellationError where isCancelled {
                finish(error: cancellationError)
            } catch {
                finish(error: error)
            }
        }
        onCancel { task.cancel() }
    }
}

extension TaskPriority {
    /// Nil for the default, with which a task has the priority of the code that makes it.
    init?(_ quality: QualityOfService) {
        switch quality {
        case .userInteractive, .userInitiated: self = .userInitiated
        case .utility: self = .utility
        case .background: self = .background
        default: return nil
        }
    }
}
