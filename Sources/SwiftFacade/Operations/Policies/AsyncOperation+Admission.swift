// SPDX-License-Identifier: Apache-2.0
//
// The path between the start of an operation and its work: the suspension of its group, delay, conditions, categories,
// one after the other. None of it holds a thread. Each step first stores, under the record's lock, what an end of the
// operation has to call off; if the operation has ended by then, the step does not begin. So a cancellation finds
// everything, and what a step brings after the end is not used.
//
//     start ──▶ passSuspension ──▶ passDelay ──▶ passConditions ──▶ takeCategories ──▶ goOn ──▶ execute
//
// The thread that starts the operation goes as far as nothing has to wait; a part that did wait goes on in the place of
// the operation (`ResumePlace.swift`).

import Foundation
import InterlockSync

extension AsyncOperation {
    /// Launched with policies or in a suspended group, on the thread that starts it.
    final func admit() {
        let place = ResumePlace(of: self, startedIn: record.withLock { $0.held.queue })
        passSuspension(place, hasWaited: false)
    }

    private func passSuspension(_ place: ResumePlace, hasWaited: Bool) {
        guard let suspension = record.withLock({ $0.held.suspension }), let name = suspension.suspendedBy
        else {
            return passDelay(place, hasWaited: hasWaited)
        }
        // Suspended anew before it runs, the group holds it anew.
        let turn = GroupSuspension.Held { [self] in passSuspension(place, hasWaited: true) }
        guard record.withLock({ $0.beginWaiting(for: .groupSuspended(name)) { $0.turn = turn } }) else {
            return
        }
        if !suspension.hold(turn) { turn.claim()?() }
    }

    private func passDelay(_ place: ResumePlace, hasWaited: Bool) {
        guard let delay = record.withLock({ $0.held.policies?.delay }), delay.duration > .zero else {
            return passConditions(place, hasWaited: hasWaited)
        }
        let alarm = ClockAlarm { [self] in passConditions(place, hasWaited: true) }
        guard record.withLock({ $0.beginWaiting(for: .delay) { $0.alarm = alarm } }) else { return }
        alarm.arm(after: delay.duration, on: delay.clock)
    }

    private func passConditions(_ place: ResumePlace, hasWaited: Bool) {
        let conditions = record.withLock { $0.held.policies?.conditions } ?? []
        if conditions.isEmpty { return takeCategories(place, hasWaited: hasWaited) }
        let question = ConditionQuestion(operation: self) { [self] first in
            try await runPreceding(first, in: place)
        }
        let task = Task(priority: TaskPriority(qualityOfService)) {
            for condition in conditions {
                guard record.withLock({ $0.beginWaiting(for: .condition(condition.name)) }) else { return }
                do {
                    try await condition.ask(question)
                } catch {
                    let (own, name) = (bareName, condition.name)
                    return refuseAdmission(ConditionRefused(operation: own, condition: name, reason: error))
                }
            }
            takeCategories(place, hasWaited: true)
        }
        let isKept = record.withLock { $0.held.policies.map { $0.conditionTask = task } != nil }
        if !isKept { task.cancel() }
    }

    private func takeCategories(_ place: ResumePlace, hasWaited: Bool) {
        let categories = record.withLock { $0.held.policies?.categories } ?? []
        if categories.isEmpty { return goOn(place, hasWaited: hasWaited) }
        let ticket = ExclusionTicket(of: self, named: bareName, in: categories) { [self] in
            goOn(place, hasWaited: true)
        }
        // The ticket knows what it waits for.
        let mayEnter = record.withLock { $0.beginWaiting(for: nil) { $0.ticket = ticket } }
        guard mayEnter else { return }
        switch ticket.enter() {
        case .taken: goOn(place, hasWaited: hasWaited)
        // A cancellation may have broken the cycle since, and the work have begun.
        case .waits: if let deadlock = ticket.deadlock() { refuseAdmission(deadlock) }
        case .withdrawn: return
        }
    }

    private func goOn(_ place: ResumePlace, hasWaited: Bool) {
        if !hasWaited { return work() }
        // Between two waits nothing is waited for.
        record.withLock { $0.held.policies?.reason = nil }
        place.run(for: self) { [self] in work() }
    }

    private func work() {
        let (mayRun, limit) = record.withLock { record in
            (record.admitted(), record.held.policies?.timeOut)
        }
        guard mayRun else { return }
        if let limit, limit.duration <= .zero {
            // The work has not begun, so no handler is called to stop it.
            _ = limitIsFirst(limit.duration, hasBegun: false)
            // If the limit was first, the record keeps that error.
            finish(error: cancellationError)
            return
        }
        if let limit {
            // The alarm does not keep the operation: dropped unfinished, it gives back what it holds.
            let alarm = ClockAlarm { [weak self] in self?.timeLimitPassed(limit.duration) }
            let isKept = record.withLock { $0.held.policies.map { $0.alarm = alarm } != nil }
            if isKept { alarm.arm(after: limit.duration, on: limit.clock) }
        }
        runWork()
    }

    /// Does nothing where the work has ended, or was cancelled before.
    final func timeLimitPassed(_ limit: Duration) { if limitIsFirst(limit, hasBegun: true) { stopWork() } }

    private func limitIsFirst(_ limit: Duration, hasBegun: Bool) -> Bool {
        let error = OperationTimedOut(operation: bareName, limit: limit)
        let (isFirst, listeners) = record.withLock {
            ($0.timeOut(error, hasBegun: hasBegun), $0.listeners)
        }
        if isFirst { tellCancelled(listeners) }
        return isFirst
    }
}
