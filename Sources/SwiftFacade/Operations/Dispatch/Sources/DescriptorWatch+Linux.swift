// SPDX-License-Identifier: Apache-2.0
//
// A descriptor on Linux: an epoll set of its own, with one registration that is good for one event, and a source of
// libdispatch that reads the set. Why not a source for the descriptor itself: libdispatch does not pass on an error
// without readiness (the reader of a full pipe has gone), but spins on it; it says nothing of a descriptor that cannot
// be registered; and one that was closed too early is in its tables under a number that another file gets.
//
//   next ─▶ arm: registration on ─▶ ready ─▶ set readable ─▶ source ─▶ mailbox ─▶ next
//
// The set is used under the lock, and not once `isOver` is set there: it is closed after that.

#if os(Linux)
import CInterlock
import Foundation
import InterlockSync

final class DescriptorWatch: Sendable {
    let descriptor: Int32
    let mailbox = EventMailbox<DescriptorEvent>()

    private let use: DescriptorUse
    /// -1 for a file that is always ready.
    private let set: Int32
    private let source = VisibleMutex<ReadSource?>(nil)
    private let isOver = VisibleMutex(false)

    init(_ descriptor: Int32, for use: DescriptorUse) throws(DescriptorUnavailable) {
        try checkDescriptor(descriptor, for: use)
        let set = ilk__descriptor_set_create()
        if set < 0 { throw DescriptorUnavailable(descriptor: descriptor, code: -set) }
        let code = ilk__descriptor_set_add(set, descriptor)
        if code != 0 { close(set) }
        // The system's answer for files that are always ready.
        if code != 0, code != EPERM { throw DescriptorUnavailable(descriptor: descriptor, code: code) }
        self.descriptor = descriptor
        self.use = use
        self.set = code == 0 ? set : -1
        if code != 0 { return }
        let source = ReadSource(set, on: .global()) { [self] in tell() }
        self.source.withLock { $0 = source }
    }

    /// Asks for one event.
    func arm() throws(DescriptorUnavailable) {
        if set < 0 {
            try checkDescriptor(descriptor, for: use)
            return put(DescriptorEvent(descriptor: descriptor))
        }
        let code: Int32 = isOver.withLock { isOver in
            if isOver { return 0 }
            let wanted: Happened = use == .reading ? [.readable, .ended] : .writable
            return ilk__descriptor_set_arm(set, descriptor, wanted.rawValue)
        }
        if code == 0 { return }
        // The number stands for another file, or for none.
        throw DescriptorUnavailable(descriptor: descriptor, code: code == ENOENT ? EBADF : code)
    }

    /// Lets go of the descriptor; whether this call did.
    @discardableResult
    func end() -> Bool {
        let isFirst = isOver.withLock { isOver in
            if isOver { return false }
            isOver = true
            // The number may stand for another file, which is not in the set.
            if set >= 0 { ilk__descriptor_set_remove(set, descriptor) }
            return true
        }
        guard isFirst else { return false }
        guard let source = source.withLock({ $0.take() }) else {
            mailbox.end()
            return true
        }
        source.cancel { [mailbox, set] in
            close(set)
            mailbox.end()
        }
        return true
    }

    // MARK: On the source's queue

    private func tell() {
        let happened = isOver.withLock { isOver in
            isOver ? [] : Happened(rawValue: ilk__descriptor_set_take(set))
        }
        if happened.isEmpty { return }
        let isEnd =
            switch use {
            // The events that are left come first.
            case .reading: !happened.isDisjoint(with: [.hungUp, .ended]) && !hasMore()
            case .writing: happened.contains(.hungUp) || happened.contains(.error) && !canBeWritten(happened)
            }
        put(DescriptorEvent(descriptor: descriptor, isEndOfFile: isEnd, hasError: happened.contains(.error)))
        if isEnd { end() }
    }

    /// Whether bytes are left after the other side has closed: asked anew, because the system reads a pipe's bytes
    /// before it counts the writers.
    private func hasMore() -> Bool {
        var count: Int32 = 0
        if ioctl(descriptor, UInt(FIONREAD), &count) == 0 { return count > 0 }
        // A kind of file that does not count its bytes.
        var asked = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&asked, 1, 0) == 1 && asked.revents & Int16(POLLIN) != 0
    }

    /// Whether the error is one after which writing may go on. A pipe's says that its reader has gone.
    private func canBeWritten(_ happened: Happened) -> Bool {
        var status = stat()
        let isPipe = fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT == S_IFIFO
        return happened.contains(.writable) && !isPipe
    }

    private func put(_ event: DescriptorEvent) { mailbox.put { $0 = [event] } }
}

private struct Happened: OptionSet {
    let rawValue: UInt32

    static let readable = Happened(rawValue: UInt32(ILK__DESCRIPTOR_READABLE))
    static let writable = Happened(rawValue: UInt32(ILK__DESCRIPTOR_WRITABLE))
    static let error = Happened(rawValue: UInt32(ILK__DESCRIPTOR_ERROR))
    static let hungUp = Happened(rawValue: UInt32(ILK__DESCRIPTOR_HUNG_UP))
    static let ended = Happened(rawValue: UInt32(ILK__DESCRIPTOR_ENDED))
}
#endif
