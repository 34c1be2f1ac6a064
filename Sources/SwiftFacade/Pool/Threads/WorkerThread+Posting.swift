// SPDX-License-Identifier: Apache-2.0
//
// Posting to a worker thread: without waiting, blocking and suspending. The handler would wait for itself if it waited
// for room in its own mailbox without a limit.

import InterlockSync

extension WorkerThread {
    /// Posts `message` if there is room. Never blocks or allocates.
    ///
    /// - Returns: `.pushed`, or the message with `.full` or `.closed`.
    /// - Complexity: O(1).
    public func tryPost(_ message: Message) -> OfferResult<Message> {
        core.mailbox.offer(message)
    }

    // MARK: Blocking

    /// Posts `message`; blocks the thread until there is room, before ``start()`` too.
    ///
    /// - Returns: `.pushed`, or the message with `.closed`.
    /// - Precondition: The mailbox has room, or the caller is not the handler, which would wait for itself: that is
    ///   reported and ends the process.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `await post` in a function"
    )
    public func post(_ message: Message) -> PushResult<Message> {
        switch core.mailbox.offer(message) {
        case .pushed: return .pushed
        case .closed(let message): return .closed(message)
        case .full(let message):
            requireAnotherThread("post", "its mailbox of \(mailboxCapacity) messages is full")
            return core.mailbox.push(message)
        }
    }

    /// As `post(_:)`, until `deadline` at most.
    ///
    /// - Returns: `.pushed`, or the message with `.timedOut` or `.closed`.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `await post` in a function"
    )
    public func post(
        _ message: Message,
        until deadline: ContinuousClock.Instant
    ) -> TimedPushResult<Message> {
        core.mailbox.push(message, until: deadline)
    }

    /// As `post(_:until:)`, for `timeout` at most.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `await post` in a function"
    )
    public func post(_ message: Message, timeout: Duration) -> TimedPushResult<Message> {
        core.mailbox.push(message, timeout: timeout)
    }

    // MARK: Suspending

    /// Posts `message`; suspends the task until there is room.
    ///
    /// - Returns: `.pushed`, or the message with `.closed` or `.cancelled`. A cancelled task still posts where there is
    ///   room.
    public func post(_ message: Message) async -> TaskPushResult<Message> {
        await core.mailbox.push(message)
    }

    /// As the suspending `post(_:)`, until `deadline` at most.
    ///
    /// - Returns: `.pushed`, or the message with `.timedOut`, `.closed` or `.cancelled`.
    public func post(
        _ message: Message,
        until deadline: ContinuousClock.Instant
    ) async -> TimedTaskPushResult<Message> {
        await core.mailbox.push(message, until: deadline)
    }

    /// As the suspending form with `until:`, for `timeout` at most.
    public func post(_ message: Message, timeout: Duration) async -> TimedTaskPushResult<Message> {
        await core.mailbox.push(message, timeout: timeout)
    }

    /// Reports a call by the thread itself that would wait for it.
    func requireAnotherThread(_ call: String, _ reason: String) {
        if isCurrent {
            misuse(
                "WorkerThread.\(call)",
                "\"\(name)\"",
                "called by the thread itself, and \(reason): the thread would wait for itself for ever"
            )
        }
    }
}
