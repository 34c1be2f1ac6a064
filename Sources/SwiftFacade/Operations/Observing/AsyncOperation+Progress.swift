// SPDX-License-Identifier: Apache-2.0
//
// The progress of an operation, made when it is first asked for. It holds nothing of the operation.

import Foundation

/// An operation whose progress is made of others'.
protocol ProgressTree: Operation {
    /// Called once, with the progress of this operation, at 0 of 0.
    func fill(_ progress: OperationProgress)
}

extension AsyncOperation {
    /// How far the work has come, as Foundation's `Progress`: the same object at each call, at 0 of 1 at first.
    ///
    /// The work sets `totalUnitCount` and `completedUnitCount` here or through ``Completion/progress``; at its end the
    /// operation completes it, however it ends. That of a ``GroupOperation`` is moved by its children, by weight.
    /// Cancelling it, or a parent, cancels the operation, on Linux a moment later; cancelling the operation cancels it.
    ///
    /// May be used from any thread. On Linux `Progress` has no locks, and this object brings one, with which it also
    /// moves its parents. What that does not cover: `completedUnitCount += 1` of two threads at once loses one of them,
    /// here as anywhere; read ``fractionCompleted`` of the operation while it runs, not that of the `Progress`; and
    /// attach it with ``addProgress(to:pendingUnitCount:)``.
    public final var progress: Progress { ownProgress }

    /// The part of the work that is done, from 0 to 1. May be asked from any thread at any time.
    public final var fractionCompleted: Double { ownProgress.fraction }

    /// Makes the progress of this operation a part of `parent`, which counts it as `pendingUnitCount` of its units.
    ///
    /// Once for an operation; Foundation stops the program otherwise. May be called beside operations that move
    /// `parent`.
    public final func addProgress(to parent: Progress, pendingUnitCount: Int64) {
        let own = ownProgress
        ProgressLock.run { parent.addChild(own, withPendingUnitCount: pendingUnitCount) }
    }

    var ownProgress: OperationProgress {
        if let progress = record.withLock({ $0.progress }) { return progress }
        let tree = self as? any ProgressTree
        let made = OperationProgress(isTree: tree != nil)
        let (progress, isNew) = record.withLock { record in
            if let progress = record.progress { return (progress, false) }
            record.progress = made
            return (made, true)
        }
        guard isNew else { return progress }
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        tree?.fill(progress)
        let id = listen { _, event in
            switch event {
            case .cancelled: progress.cancel()
            case .finished: progress.end()
            case .enqueued, .ready, .starting, .executing, .started, .produced: break
            }
        }
        if isCancelled { progress.cancel() }
        if id == nil { progress.end() }
        return progress
    }
}
