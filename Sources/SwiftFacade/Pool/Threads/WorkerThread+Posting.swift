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
    public func tryPost(_ message: Message) -> PushResult<Message> { core.mailbox.tryPush(message) }

    // MARK: Blocking

    /// Posts `message`; blocks the thread until there is room, before ``start()`` too.
    ///
    /// - Returns: `.pushed`, or the message with `.closed`.
    /// - Precondition: The mailbox has room, or the caller is not the handler, which would wait for itself: that is
    ///   reported and ends the process.
    @available(*, noasync, message: "it blocks the thread; use `await post`")
    public func post(_ message: Message) -> PushResult<Message> {
        switch core.mailbox.tryPush(message) {
        case .full(let message):
            requireAnotherThread("post", "its mailbox of \(mailboxCapacity) messages is full")
            return core.mailbox.push(message)
        case let answer: return answer
        }
    }

    /// Posts `message`; blocks the thread while the mailbox is full, until `deadline` at most.
    ///
    /// - Returns: `.pushed`, or the message with `.full` or `.closed`.
    @available(*, noasync, message: "it blocks the thread; use `await post`")
    public func post(_ message: Message, until deadline: ContinuousClock.Instant) -> PushResult<Message> {
        core.mailbox.push(message, until: deadline)
    }

    /// Posts `message`; blocks the thread while the mailbox is full, for `timeout` at most.
    ///
    /// - Returns: `.pushed`, or the message with `.full` or `.closed`.
    @available(*, noasync, message: "it blocks the thread; use `await post`")
    public func post(_ message: Message, timeout: Duration) -> PushResult<Message> {
        core.mailbox.push(message, timeout: timeout)
    }

    // MARK: Suspending

    /// Posts `message`; suspends the task until there is room.
    ///
    /// - Returns: `.pushed`, or the message with `.closed` or `.cancelled`. A cancelled task still posts where there is
    ///   room.
    public func post(_ message: Message) async -> PushResult<Message> { await core.mailbox.push(message) }

    /// Posts `message`; suspends the task while the mailbox is full, until `deadline` at most.
    ///
    /// - Returns: `.pushed`, or the message with `.full`, `.closed` or `.cancelled`.
    public func post(
        _ message: Message,
        until deadline: ContinuousClock.Instant
    ) async -> PushResult<Message> {
        await core.mailbox.push(message, until: deadline)
    }

    /// Posts `message`; suspends the task while the mailbox is full, for `timeout` at most.
    ///
    /// - Returns: `.pushed`, or the message with `.full`, `.closed` or `.cancelled`.
    public func post(_ message: Message, timeout: Duration) async -> PushResult<Message> {
        await core.mailbox.push(message, timeout: timeout)
    }

    /// Reports a call by the thread itself that would wait for it.
    func requireAnotherThread(_ call: String, _ reason: String) {
        if isCurrent {
            let sentence =
                "called by the thread itself, and \(reason): the thread would wait for itself for ever"
            misuse("WorkerThread.\(call)", "\"\(name)\"", sentence)
        }
    }
}
