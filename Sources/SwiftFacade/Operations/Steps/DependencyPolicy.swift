// SPDX-License-Identifier: Apache-2.0
//
// What becomes of an operation whose dependency fails, where it takes no output of it.

import Foundation
import InterlockPool
import InterlockSync

/// What becomes of an operation where one that it depends on failed or was cancelled.
public enum DependencyPolicy: Sendable, Hashable {
    /// It runs all the same, as after ``AsyncOperation/addDependency(_:)``.
    case ignore
    /// It fails with the error of the dependency; its work does not run.
    case fail
}

extension AsyncOperation {
    /// Has this operation wait for `dependency`, and says what becomes of it where `dependency` fails or is cancelled.
    ///
    /// With `.fail`, the error is recorded before this operation becomes ready: the first one, where there are several.
    /// An operation that was cancelled itself ends as cancelled. A dependency of another class shows only that it was
    /// cancelled (``OperationCancelled`` with its name). A dependency that was added before keeps its policy.
    public final func addDependency(_ dependency: Operation, onFailure policy: DependencyPolicy) {
        let gated = dependency as? any GatedOperation
        let failure = policy == .fail ? Self.failure(of: dependency, gated) : nil
        depend(on: dependency, as: gated, failure: failure)
    }

    /// The dependency keeps its gates, which do not keep it.
    private static func failure(
        of dependency: Operation,
        _ gated: (any GatedOperation)?
    ) -> @Sendable () -> (any Error)? {
        if let gated { return { [weak gated] in gated?.failure } }
        return { [weak dependency] in
            guard let dependency, dependency.isCancelled else { return nil }
            return OperationCancelled(operation: dependency.nameInExplanations)
        }
    }

    /// The error it has ended with.
    var failure: (any Error)? {
        if case .failure(let error) = record.withLock({ $0.ending }) { error } else { nil }
    }
}
