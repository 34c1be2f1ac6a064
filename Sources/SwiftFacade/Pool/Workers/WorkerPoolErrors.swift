// SPDX-License-Identifier: Apache-2.0
//
// Why a pool was not made, and why work did not run. An error of the work itself is passed on as it is, beside these.

import InterlockSync

/// Why a ``WorkerPool`` was not made, or has not run what it was given.
public enum WorkerPoolError: Error, Hashable, CustomStringConvertible {
    /// An option that no pool can have: its name, and what it may be.
    case invalidOption(String, String)
    /// The system gave no thread, or no memory.
    case unavailable(pool: String)
    /// The pool is closed. The work has not begun, and will not.
    case closed(pool: String)

    /// A sentence with the option or the pool.
    public var description: String {
        switch self {
        case .invalidOption(let name, let reason): "\(name): \(reason)"
        case .unavailable(let pool): "the pool \"\(pool)\": the system gave no thread, or no memory"
        case .closed(let pool): "the pool \"\(pool)\" is closed: the work has not begun, and will not"
        }
    }
}

/// Why a blocking `WorkerPool.run(priority:_:)` or loop has no value.
public enum WorkerPoolRunError<Failure: Error>: Error, CustomStringConvertible {
    /// The pool has not run it: it is closed.
    case notRun(WorkerPoolError)
    /// The work ran and threw this.
    case failed(Failure)

    /// A sentence, or the error of the work.
    public var description: String {
        switch self {
        case .notRun(let error): error.description
        case .failed(let error): "\(error)"
        }
    }
}

extension WorkerPoolRunError: Equatable where Failure: Equatable {}
