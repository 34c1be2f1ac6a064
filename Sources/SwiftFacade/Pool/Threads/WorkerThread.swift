// SPDX-License-Identifier: Apache-2.0
//
// A worker thread: what its owner sees. Threads/WorkerThreadCore.swift is what it shares with its thread; that keeps
// the core and not this object, so that a thread whose owner has gone ends. WorkerThread+Posting.swift and
// +Joining.swift have the waits.

import InterlockSync

/// A thread with a name and a mailbox: it handles the messages posted to it, one at a time, in the order in which they
/// came.
///
/// ```swift
/// var written = 0
/// let journal = try WorkerThread<Data>(name: "journal", mailboxCapacity: 256) { entry in
///     written += entry.count
/// }
/// try journal.start()
/// guard journal.tryPost(Data("begin".utf8)).isPushed else { fatalError("full") }
/// journal.close()
/// try await journal.join()
/// ```
///
/// The handler runs on that thread only, and may own what is not `Sendable`, as `written` above.
///
/// | state | posting | what was accepted |
/// |---|---|---|
/// | ``WorkerThreadState/idle`` | accepted while there is room | waits for ``start()`` |
/// | ``WorkerThreadState/running`` | accepted while there is room | is handled |
/// | ``WorkerThreadState/closing`` | `closed`, with the message | is handled |
/// | ``WorkerThreadState/ended`` | `closed`, with the message | is handed back by ``closeNow()`` |
///
/// An accepted message is handled once, or handed back once, unless the object is released: then the thread handles
/// what it has accepted and ends, as by ``close()``; messages of one that was not started are released.
///
/// If the handler throws, the thread ends: `join()` throws that error, and ``closeNow()`` has the messages behind
/// the one that failed.
///
/// Every method is thread-safe. The handler sees what the poster of its message did before; what waits for the end sees
/// all that the handler did. The system shows the first 15 bytes of the name. The mailbox is an ``MPMCRing``, and
/// posting answers as pushing does.
public final class WorkerThread<Message: Sendable>: Sendable {
    let core: WorkerThreadCore<Message>

    /// A thread that is not started. Allocates the mailbox.
    ///
    /// - Parameters:
    ///   - name: The name of the thread.
    ///   - mailboxCapacity: How many messages wait at most, from 1 up.
    ///   - stackSize: The size of its stack, in bytes; `nil`: the system's.
    ///   - nice: Its nice value, added to the process's: from -20 to 19, below 0 only with privilege.
    ///   - handler: Called with each message, on the thread. Released there at its end, or by the ``close()`` of a
    ///     thread that was not started.
    /// - Throws: ``WorkerThreadError/invalidOption(_:_:)`` or ``WorkerThreadError/outOfMemory(mailboxCapacity:)``.
    public init(
        name: String,
        mailboxCapacity: Int,
        stackSize: Int? = nil,
        nice: Int = 0,
        handler: sending @escaping (Message) throws -> Void
    ) throws(WorkerThreadError) {
        if let stackSize, stackSize < WorkerPool.leastStack {
            let reason = "\(stackSize); a thread needs \(WorkerPool.leastStack) bytes"
            throw WorkerThreadError.invalidOption("stackSize", reason)
        }
        guard (-20...19).contains(nice) else {
            throw WorkerThreadError.invalidOption("nice", "\(nice); it is -20 to 19")
        }
        let options = WorkerThreadOptions(name: name, stackSize: stackSize, nice: nice)
        core = try WorkerThreadCore(options, mailboxCapacity: mailboxCapacity, handler)
    }

    deinit { core.close() }

    /// The name that the thread was made with.
    public var name: String { core.options.name }

    /// What the thread is doing now. Blocks briefly.
    public var state: WorkerThreadState { core.state }

    /// Whether the calling thread is this one. Never blocks.
    public var isCurrent: Bool { core.isCurrent }

    /// How many messages wait at most.
    public var mailboxCapacity: Int { core.mailbox.capacity }

    /// How many messages wait now. Never blocks.
    public var waitingMessages: Int { core.mailbox.count }

    /// Starts the thread. Blocks until it runs with its nice value.
    ///
    /// - Throws: ``WorkerThreadError/unavailable(_:)`` or ``WorkerThreadError/refusedNice(_:code:)``: it is not
    ///   started, and its messages wait; ``WorkerThreadError/closed(thread:)``.
    /// - Precondition: It was not started; a second start is reported and ends the process.
    public func start() throws(WorkerThreadError) { try core.start() }

    /// Refuses further messages, and has the thread end when it has handled those it has accepted. Does not wait; a
    /// second call does nothing. Messages waiting to be posted come back to their posters.
    ///
    /// A thread that was not started ends at once; ``closeNow()`` has its messages.
    public func close() { core.close() }

    /// Refuses further messages, has the thread end, and moves out the messages that the thread has not begun to
    /// handle: also those of a thread that has ended by its handler's error, or was never started. Each is handed
    /// back once. Waits only for posts in the middle of their push.
    ///
    /// - Returns: Those messages, the oldest first. They will not be handled.
    /// - Complexity: O(messages).
    public func closeNow() -> [Message] {
        core.close()
        return core.drain()
    }
}
