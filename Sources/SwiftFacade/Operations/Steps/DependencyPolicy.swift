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
    /// As ``addDependency(_:)``, with what becomes of this operation where `dependency` fails or is cancelled.
    ///
    /// With `.fail`, the error is recorded before this operation becomes ready; the first one, of several. One that was
    /// cancelled itself ends as cancelled. Of an operation of another class, only a cancellation can be seen
    /// (``OperationCancelled`` with its name). A dependency that is there already keeps its policy.
    public final func addDependency(_ dependency: Operation, onFailure policy: DependencyPolicy) {
        let gated = dependency as? any GatedOperation
        depend(
            on: dependency,
            as: gated,
            failure: policy == .fail ? Self.failure(of: dependency, gated) : nil
        )
    }

    /// The dependency keeps its gates, which do not keep it.
    private static func failure(
        of dependency: Operation,
        _ gated: (any GatedOperation)?
    ) -> @Sendable () -> (any Error)? {
        if let gated { return { [weak gated] in gated?.failure } }
        return { [weak dependency] in
            guard let dependency, dependency.isCancelled else { return nil }
            return OperationCancelled(operation: bareMisuseName(dependency.name, of: dependency))
        }
    }

    /// The error it has ended with.
    var failure: (any Error)? {
        if case .failure(let error) = record.withLock({ $0.ending }) { error } else { nil }
    }
}
