// SPDX-License-Identifier: Apache-2.0
//
// Foundation's `Progress` for operations. On Linux (Swift 6.3) it is declared `Sendable` and has no lock: two threads
// that move children of one parent crash in its set of children. So the objects made here take one lock of the process
// for every change. A change passes on to all ancestors inside it, those of other classes too; nothing of users runs
// in it: on Linux the handlers of `cancel` run on a queue, later. On Darwin `Progress` has its own locks.
//
// Two things cannot be repaired from outside: `fractionCompleted` is not overridable on Linux, so it is read here
// through `AsyncOperation.fractionCompleted`; and an object that users make themselves changes without the lock.

import Foundation

#if canImport(Darwin)
/// Foundation's own locks suffice.
enum ProgressLock {
    static func run<Result>(_ body: () -> Result) -> Result { body() }
}
#else
/// Held while any progress of an operation changes. Recursive: a change passes on to other objects.
enum ProgressLock {
    private static let lock = NSRecursiveLock()

    static func run<Result>(_ body: () -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }
}
#endif

/// `@unchecked Sendable` because its superclass is; what it adds is constant.
final class OperationProgress: Progress, @unchecked Sendable {
    /// The parts complete it.
    private let isTree: Bool

    init(isTree: Bool) {
        self.isTree = isTree
        super.init(parent: nil, userInfo: nil)
        isCancellable = true
        totalUnitCount = isTree ? 0 : 1
    }

    override var totalUnitCount: Int64 {
        get { ProgressLock.run { super.totalUnitCount } }
        set { ProgressLock.run { super.totalUnitCount = newValue } }
    }

    override var completedUnitCount: Int64 {
        get { ProgressLock.run { super.completedUnitCount } }
        set { ProgressLock.run { super.completedUnitCount = newValue } }
    }

    override var isFinished: Bool { ProgressLock.run { super.isFinished } }

    override var isIndeterminate: Bool { ProgressLock.run { super.isIndeterminate } }

    override var isCancelled: Bool {
        get { ProgressLock.run { super.isCancelled } }
        set { ProgressLock.run { super.isCancelled = newValue } }
    }

    override func cancel() { ProgressLock.run { super.cancel() } }

    override func addChild(_ child: Progress, withPendingUnitCount count: Int64) {
        ProgressLock.run { super.addChild(child, withPendingUnitCount: count) }
    }

    /// Adds a part of the whole, which `child` moves.
    func grow(by count: Int64, moved child: Progress) {
        ProgressLock.run {
            super.totalUnitCount += count
            super.addChild(child, withPendingUnitCount: count)
        }
    }

    /// Adds a part of the whole that is done.
    func grow(byDone count: Int64) {
        if count == 0 { return }
        ProgressLock.run {
            super.totalUnitCount += count
            super.completedUnitCount += count
        }
    }

    /// The operation has ended, however: all of it is done.
    func end() {
        ProgressLock.run {
            if isTree, super.totalUnitCount > 0 { return }
            if super.totalUnitCount <= 0 { super.totalUnitCount = 1 }
            if !super.isFinished { super.completedUnitCount = super.totalUnitCount }
        }
    }

    var fraction: Double { ProgressLock.run { min(1, max(0, fractionCompleted)) } }
}
