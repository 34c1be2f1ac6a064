// SPDX-License-Identifier: Apache-2.0
//
// What an operation passes between its start and its work, one after the other (delay, conditions, categories), and the
// limit of its work. Most operations have none of it and no such object: the launch asks for it once.

import Foundation
import InterlockPool

/// Set before the start, under the record's lock.
///
/// The admissions store here what a cancellation has to call off, under the record's lock while the operation is being
/// admitted. The end takes the object out of the record: the thread that ends the operation owns it alone.
// Touched under the lock of its operation's record, then by the one thread that ends it.
final class OperationPolicies: @unchecked Sendable {
    struct Timed { var duration: Duration, clock: any Clock<Duration> }

    // Set before the start.
    var delay: Timed?
    var conditions: [OperationCondition] = []
    var categories: [ExclusionCategory] = []
    var timeOut: Timed?

    // What is under way.
    /// The turn of a child in a suspended group.
    var turn: GroupSuspension.Held?
    /// The alarm of the delay, then that of the limit.
    var alarm: ClockAlarm?
    /// The alarm of an attempt's limit, then that of the pause before the next one.
    var attemptAlarm: ClockAlarm?
    /// For tests: the attempts that have reached their limit.
    var limitsPassed = 0
    var conditionTask: Task<Void, Never>?
    /// The operation that a condition has run before it is asked.
    var preceding: Operation?
    var ticket: ExclusionTicket?
    /// The operation that the work made and waits for.
    var awaited: Operation?
    /// Set when the limit has passed: the operation ends with it.
    var timedOut: OperationTimedOut?
    private var ownReason: WaitReason?

    /// What the operation waits for. The holder of a category is asked for now.
    var reason: WaitReason? {
        get { ticket?.reason ?? ownReason }
        set { ownReason = newValue }
    }

    /// Calls off what is under way and gives back what was taken. Once, when the operation has ended.
    func withdraw() {
        _ = turn?.claim()
        alarm?.cancel()
        attemptAlarm?.cancel()
        conditionTask?.cancel()
        ticket?.giveBack()
    }
}
