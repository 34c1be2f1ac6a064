// SPDX-License-Identifier: Apache-2.0
//
// The readiness of a descriptor as a sequence, and its end.

import Foundation
import InterlockSync

/// A descriptor is ready.
public struct DescriptorEvent: Hashable, Sendable {
    /// Which.
    public var descriptor: Int32
    /// The other side has closed, or ended its half of a connection, and nothing is left: a read gives 0 or the error,
    /// a write fails. It is the last event.
    public var isEndOfFile: Bool
    /// The descriptor has an error, which the next read or write gives.
    public var hasError: Bool

    /// Makes the event.
    public init(descriptor: Int32, isEndOfFile: Bool = false, hasError: Bool = false) {
        (self.descriptor, self.isEndOfFile, self.hasError) = (descriptor, isEndOfFile, hasError)
    }
}

/// A descriptor cannot be waited for: it is not open, not open for this use, of no kind that can be waited for, or the
/// system has no room for another.
public struct DescriptorUnavailable: Error, Hashable, CustomStringConvertible {
    /// The descriptor that was asked for.
    public let descriptor: Int32
    /// Why, as in `errno`: `EBADF` for one that is not open, or not open for reading or for writing.
    public let code: Int32

    /// Makes the error.
    public init(descriptor: Int32, code: Int32) {
        self.descriptor = descriptor
        self.code = code
    }

    /// A sentence with the system's reason.
    public var description: String {
        "descriptor \(descriptor) cannot be waited for: \(String(cString: strerror(code)))"
    }
}

/// The moments at which a descriptor can be read or written without blocking, for `for try await`; made by
/// ``GCD/readable(_:)`` and ``GCD/writable(_:)``.
///
/// ```swift
/// var buffer = [UInt8](repeating: 0, count: 4096)
/// for try await event in try GCD.readable(descriptor) {
///     let count = read(descriptor, &buffer, buffer.count)
///     if event.isEndOfFile || count <= 0 { break }
/// }
/// ```
///
/// An event comes when it is asked for: the descriptor is watched while a task waits, and no event is kept but one that
/// a task has just asked for. So a loop gets an event again until it has read what there is, and there are no events
/// while its body runs. A regular file, which the system cannot wait for, is always ready; its end is what a read says.
///
/// The descriptor stays the program's, which closes it. The sequence has let go of it when a loop over it has ended, or
/// ``finished()`` returns: then the program may close it. Where a loop was left before its end, Linux lets go at once,
/// and Darwin a moment later, for which ``finished()`` waits. When it is closed before, an iterator throws
/// ``DescriptorUnavailable`` when it is next asked, also where the number has come to stand for another file; a task
/// that waits at that moment gets no event, and waits until it is cancelled.
///
/// The sequence ends after the event for the end of the file, when its task is cancelled, its last iterator is dropped,
/// the sequence is dropped before it has one, or with ``cancel()``. It may be used from any thread; with several
/// iterators each event goes to one of them. No thread is held by a wait.
public final class DescriptorEvents: AsyncSequence, Sendable {
    /// Why an iterator gives up.
    public typealias Failure = DescriptorUnavailable

    fileprivate let watch: DescriptorWatch
    fileprivate let uses = UseCount()

    init(_ watch: DescriptorWatch) { self.watch = watch }

    deinit { watch.end() }

    /// The descriptor.
    public var descriptor: Int32 { watch.descriptor }

    /// Ends the sequence. Does not wait: ``finished()`` does. An event that was not taken is dropped.
    ///
    /// Apart from ``finished()``, so that a loop over the sequence may call it: one that waited would wait for itself.
    ///
    /// - Returns: whether this call ended it, as of each `cancel` here: of several callers one has.
    @discardableResult
    public func cancel() -> Bool {
        watch.mailbox.close()
        return watch.end()
    }

    /// Suspends the task until the sequence has ended and let go of the descriptor.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the sequence is not touched.
    public func finished() async throws(CancellationError) {
        _ = try await watch.mailbox.finished(until: nil)
    }

    /// Suspends the task until the sequence has ended and let go of the descriptor, for `timeout` at most.
    ///
    /// - Returns: whether the sequence had ended.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the sequence is not touched.
    public func finished(timeout: Duration) async throws(CancellationError) -> Bool {
        try await watch.mailbox.finished(until: moment(in: timeout))
    }

    /// An iterator. None that is made after the end gives an event.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Takes events out. When the last iterator of a sequence is dropped, the sequence ends.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let events: DescriptorEvents
        private let use: SourceUse

        fileprivate init(_ events: DescriptorEvents) {
            self.events = events
            use = SourceUse(of: events.uses) { [watch = events.watch] in watch.end() }
        }

        /// The next event; nil once the sequence has ended, or the task is cancelled, which ends it. Suspends the task.
        ///
        /// - Throws: ``DescriptorUnavailable`` where the descriptor was closed; the sequence has ended then.
        public func next() async throws(DescriptorUnavailable) -> DescriptorEvent? {
            try await next(isolation: nil)
        }

        /// The next event; nil once the sequence has ended, or the task is cancelled, which ends it. Suspends the task.
        /// Runs in the isolation of the caller.
        ///
        /// - Throws: ``DescriptorUnavailable`` where the descriptor was closed; the sequence has ended then.
        public func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DescriptorUnavailable) -> DescriptorEvent? {
            let watch = events.watch
            do throws(DescriptorUnavailable) {
                return try await watch.mailbox.next(arm: watch.arm, stop: { watch.end() })
            } catch {
                watch.end()
                await watch.mailbox.ended()
                throw error
            }
        }
    }
}

enum DescriptorUse: Sendable { case reading, writing }

extension GCD {
    /// The moments at which `descriptor` can be read without blocking, or has come to its end; see
    /// ``DescriptorEvents``.
    ///
    /// - Throws: ``DescriptorUnavailable``, before anything is watched: it is not open for reading, or cannot be waited
    ///   for (a directory).
    public static func readable(_ descriptor: Int32) throws(DescriptorUnavailable) -> DescriptorEvents {
        DescriptorEvents(try DescriptorWatch(descriptor, for: .reading))
    }

    /// The moments at which `descriptor` can be written without blocking, or has no reader any more; see
    /// ``DescriptorEvents``.
    ///
    /// - Throws: as ``readable(_:)``, for writing.
    public static func writable(_ descriptor: Int32) throws(DescriptorUnavailable) -> DescriptorEvents {
        DescriptorEvents(try DescriptorWatch(descriptor, for: .writing))
    }
}

/// Refuses a descriptor that is not open for its use. libdispatch says nothing of such a one.
func checkDescriptor(_ descriptor: Int32, for use: DescriptorUse) throws(DescriptorUnavailable) {
    let flags = fcntl(descriptor, F_GETFL)
    if flags < 0 { throw DescriptorUnavailable(descriptor: descriptor, code: errno) }
    let isOnlyForOther = flags & O_ACCMODE == (use == .reading ? O_WRONLY : O_RDONLY)
    if isOnlyForOther { throw DescriptorUnavailable(descriptor: descriptor, code: EBADF) }
    var status = stat()
    if fstat(descriptor, &status) != 0 { throw DescriptorUnavailable(descriptor: descriptor, code: errno) }
    let isFolder = status.st_mode & S_IFMT == S_IFDIR
    if isFolder { throw DescriptorUnavailable(descriptor: descriptor, code: EISDIR) }
}
