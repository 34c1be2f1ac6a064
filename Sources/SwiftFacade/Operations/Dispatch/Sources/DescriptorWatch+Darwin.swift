// SPDX-License-Identifier: Apache-2.0
//
// A descriptor where libdispatch's own source tells of the end and of errors: the source is suspended between events,
// and resumed to be cancelled, because releasing a suspended source traps. kqueue(2) says nothing of a regular file at
// its end: one is always ready here, and its source stays suspended.

#if !os(Linux)
import Darwin
import Dispatch
import InterlockSync

// The source may be used from any thread; whether it is suspended changes under the lock.
final class DescriptorWatch: @unchecked Sendable {
    let descriptor: Int32
    let mailbox = EventMailbox<DescriptorEvent>()

    private struct State { var isArmed = false, isOver = false }

    private let use: DescriptorUse
    private let isAlwaysReady: Bool
    private let source: any DispatchSourceProtocol
    private let state = VisibleMutex(State())

    init(_ descriptor: Int32, for use: DescriptorUse) throws(DescriptorUnavailable) {
        try checkDescriptor(descriptor, for: use)
        self.descriptor = descriptor
        self.use = use
        var status = stat()
        isAlwaysReady = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        source =
            switch use {
            case .reading: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            case .writing: DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: .global())
            }
        source.setEventHandler { [self] in tell() }
        source.setCancelHandler { [mailbox] in mailbox.end() }
        source.suspend()
        source.activate()
    }

    /// Asks for one event.
    func arm() throws(DescriptorUnavailable) {
        try checkDescriptor(descriptor, for: use)
        if isAlwaysReady { return mailbox.put { $0 = [DescriptorEvent(descriptor: descriptor)] } }
        state.withLock { state in
            if state.isArmed || state.isOver { return }
            state.isArmed = true
            source.resume()
        }
    }

    /// Lets go of the descriptor; whether this call did.
    @discardableResult
    func end() -> Bool {
        state.withLock { state in
            if state.isOver { return false }
            state.isOver = true
            source.cancel()
            if !state.isArmed { source.resume() }
            return true
        }
    }

    private func tell() {
        let count = source.data
        let isLast: Bool = state.withLock { state in
            guard state.isArmed, !state.isOver else { return false }
            state.isArmed = false
            source.suspend()
            return count == 0
        }
        mailbox.put { $0 = [DescriptorEvent(descriptor: descriptor, isEndOfFile: isLast)] }
        if isLast { end() }
    }
}
#endif
