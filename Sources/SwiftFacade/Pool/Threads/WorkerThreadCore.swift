// SPDX-License-Identifier: Apache-2.0
//
// What a worker thread's owner and the thread share: the mailbox, the state, the handler until it runs.
//
//   idle ──start──▶ running ──close──▶ closing ──mailbox drained──────▶ ended
//     │                └──────────the handler throws──────────────────▶ ended
//     └──close─────────────────────────────────────────────────────────▶ ended
//
// The mailbox is closed before the state leaves idle or running, or right after, by the same thread. A push that
// succeeds beside the closing is in the ring, and the ring answers closed only when it is drained: so the thread, or
// `drain`, meets every accepted message.

import InterlockSync

struct WorkerThreadOptions: Sendable { let name: String, stackSize: Int?, nice: Int }

final class WorkerThreadCore<Message: Sendable>: Sendable {
    let options: WorkerThreadOptions
    let mailbox: MPMCRing<Message>
    /// How the thread has ended.
    let end = Promise<Result<Void, any Error>>()
    private let handler: PendingWork<(Message) throws -> Void>
    private let current = VisibleMutex(Status())

    private struct Status { var state = WorkerThreadState.idle, wasStarted = false }

    init(
        _ options: WorkerThreadOptions,
        mailboxCapacity: Int,
        _ handler: sending @escaping (Message) throws -> Void
    ) throws(WorkerThreadError) {
        self.options = options
        do throws(RingError) {
            mailbox = try MPMCRing(capacity: mailboxCapacity)
        } catch {
            switch error {
            case .invalidCapacity(let capacity):
                let reason = "\(capacity); a mailbox has room for 1 message or more"
                throw .invalidOption("mailboxCapacity", reason)
            case .outOfMemory(let capacity): throw .outOfMemory(mailboxCapacity: capacity)
            }
        }
        self.handler = PendingWork(handler)
    }

    var state: WorkerThreadState { current.withLock { $0.state } }

    var isCurrent: Bool { PoolThread.isInJob(of: self) }

    func start() throws(WorkerThreadError) {
        let before = current.withLock { status in
            let before = status
            if status.state == .idle { status = Status(state: .running, wasStarted: true) }
            return before
        }
        if before.wasStarted {
            let sentence = "it was started already; it is \(before.state)"
            misuse("WorkerThread.start", "\"\(options.name)\"", sentence)
        }
        if before.state != .idle { throw .closed(thread: options.name) }
        let answer = Promise<WorkerThreadError?>()
        do throws(ThreadUnavailable) {
            try OwnThread.start(named: options.name, stackSize: options.stackSize) { [self] in
                let code = OwnThread.addNice(Int32(options.nice))
                answer.fulfil(code == 0 ? nil : .refusedNice(options.nice, code: code))
                if code == 0 { run() }
            }
            answer.block()
        } catch {
            answer.fulfil(.unavailable(error))
        }
        guard let error = answer.value! else { return }
        // The thread was not started: it is idle again, or ended if it was closed meanwhile.
        let isEnded = current.withLock { status in
            status = Status(state: status.state == .running ? .idle : .ended)
            return status.state == .ended
        }
        if isEnded { finish(.success(())) }
        throw error
    }

    private func run() {
        PoolThread.runsJob(of: self) {
            finish(Result { try handleMessages() })
        }
    }

    private func handleMessages() throws {
        // The handler goes with this frame, before the end is announced.
        guard let handler = handler.claim() else { return }
        while let message = try mailbox.pop() { try handler(message) }
    }

    func close() {
        let endsHere = current.withLock { status in
            if status.state == .running { status.state = .closing }
            guard status.state == .idle else { return false }
            status.state = .ended
            return true
        }
        mailbox.close()
        if endsHere { finish(.success(())) }
    }

    private func finish(_ result: Result<Void, any Error>) {
        mailbox.close()
        _ = handler.claim()
        current.withLock { $0.state = .ended }
        end.fulfil(result)
    }

    /// Moves out what is in the closed mailbox, pushes under way included.
    func drain() -> [Message] {
        var messages: [Message] = []
        // The mailbox of an ending thread may be closed a moment later than its state says.
        mailbox.close()
        while let message = try? mailbox.pop() { messages.append(message) }
        return messages
    }
}
