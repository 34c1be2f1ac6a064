// SPDX-License-Identifier: Apache-2.0
//
// The Swift face of the C core's diagnosis (<interlock/diagnostics.h>): what is watched, and what is done with a
// report.

import CInterlock

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Finds out why a program hangs, may hang, or waits: lock orders that can deadlock, contention, and what every thread
/// holds and waits for.
///
/// Off at first, and free while it is: a watched object has a bit in its word that sends its calls to the slow path.
/// Switched on for all objects made from then on by ``enabled``, or by the environment without a rebuild:
///
/// ```
/// INTERLOCK_DIAGNOSTICS=order,contention,hang
/// ```
///
/// or for one object by its own `diagnose(_:)`. The environment knows more words, separated by commas: `abort` ends the
/// process at the first report but of a hang; `limit=SECONDS` reports a thread that waits longer; `signal=NUMBER`
/// chooses the signal for a report of all threads (SIGQUIT while `hang` is on); `file=PATH` has the diagnosis written
/// at exit, as JSON or as a page by the name's ending.
///
/// Watched are ``ReadWriteLock``, ``SharedReadWriteLock``, the collections, ``FIFOSemaphore``,
/// ``PriorityInheritingMutex``, the rings, waits for a ``Latch``, and waits for operations, jobs and a ``WorkerGroup``.
/// Of dispatch queues, the serial ones that ``GCD`` made are watched: a `GCD.sync` without a limit asks for its queue,
/// and what the helpers of ``GCD``, groups, runners and timers run on a queue holds it. A task that suspends holds up
/// no thread: it is not seen.
///
/// Every call is thread-safe. `docs/diagnosis.md` works through an example of each kind of trouble.
public enum Diagnostics {
    /// What can be watched.
    public struct Features: OptionSet, Sendable {
        /// The bits of `ilk_diagnose`.
        public let rawValue: UInt32

        /// The features with these bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Two orders of taking locks that could make their threads wait for each other for ever, reported when the
        /// second is met; and a thread about to wait for itself.
        public static let order = Features(rawValue: 1)
        /// Acquisitions, those that had to wait, and histograms of wait and hold.
        public static let contention = Features(rawValue: 2)
        /// What every thread holds, waits for and works on.
        public static let hang = Features(rawValue: 4)
        /// All of these.
        public static let all: Features = [.order, .contention, .hang]
    }

    /// What is watched of all objects made from now on; empty: off. Calls `ilk_diagnose`.
    ///
    /// ```swift
    /// Diagnostics.enabled = [.order, .hang]
    /// ```
    public static var enabled: Features {
        get { Features(rawValue: ilk_diagnosed()) }
        set { ilk_diagnose(newValue.rawValue) }
    }

    // MARK: Reports

    /// What is reported.
    public struct Report: Sendable, CustomStringConvertible {
        /// Which trouble it is.
        public enum Kind: Sendable {
            /// Two orders of taking locks that may deadlock.
            case inversion
            /// A thread about to wait for itself. The process ends after the report where the wait cannot end.
            case selfWait
            /// A thread has waited longer than the limit.
            case hang
        }

        /// Which trouble it is.
        public let kind: Kind
        /// What is wrong, with the names of threads and objects.
        public let sentence: String
        /// The sentence and all stacks, as they would be printed.
        public let text: String

        /// The sentence.
        public var description: String { sentence }
    }

    private static let handler = VisibleMutex<(@Sendable (Report) -> Void)?>(nil)

    /// Has `handler` called with each report, instead of printing it on standard error; `nil`: print again.
    ///
    /// A report of an order, or of a thread about to wait for itself, is given to it by that thread, before the wait; a
    /// report of a hang by a thread of the library. It may use the library. What an earlier handler captures is
    /// released before the return, unless it is running. Calls `ilk_set_report_handler`.
    public static func onReport(_ handler: (@Sendable (Report) -> Void)?) {
        let relay: ilk_report_handler = { report, _ in Diagnostics.deliver(report!.pointee) }
        // Released outside the lock: what it captures may call this.
        let earlier = self.handler.withLock { current in
            defer { current = handler }
            // Under the lock: calls beside each other leave both sides with the same handler.
            ilk_set_report_handler(handler == nil ? nil : relay, nil)
            return current
        }
        withExtendedLifetime(earlier) {}
    }

    private static func deliver(_ report: ilk_report) {
        if let handler = handler.withLock({ $0 }) {
            handler(Report(report))
        } else {
            // It has gone since the core decided to call it.
            tell(String(cString: report.text))
        }
    }

    /// Whether each report but that of a hang ends the process. Calls `ilk_set_report_abort`.
    public static func abortsOnInversion(_ aborts: Bool) {
        ilk_set_report_abort(aborts)
    }

    // MARK: Hangs

    /// Why diagnosis cannot do what it was asked for.
    public enum Failure: Error, Hashable, CustomStringConvertible {
        /// The system has no such signal for a handler.
        case signal(Int32)
        /// The system made no thread.
        case thread
        /// Memory for what is watched was not there.
        case memory
        /// Writing failed, with this `errno`.
        case writing(Int32)

        /// A sentence.
        public var description: String {
            switch self {
            case .signal(let number): "signal \(number) cannot be used for reports"
            case .thread: "the system made no thread for reports"
            case .memory: "there was no memory to watch the object"
            case .writing(let code): "the diagnosis could not be written: \(ThreadUnavailable.reason(code))"
            }
        }
    }

    /// Has a report of all threads printed on standard error at each signal of this number; 0: at none. Calls
    /// `ilk_set_hang_signal`.
    ///
    /// - Throws: ``Failure/signal(_:)``, ``Failure/thread``; reports go on as before.
    public static func reportOnSignal(_ number: Int32) throws(Failure) {
        switch ilk_set_hang_signal(number) {
        case ILK_OK: return
        case ILK_INVALID: throw .signal(number)
        default: throw .thread
        }
    }

    /// Has a thread's wait of more than `limit` reported, once a wait; `nil`: none. Waits are known where
    /// ``Features/hang`` is watched. Calls `ilk_set_hang_limit`.
    ///
    /// - Throws: ``Failure/thread``.
    public static func reportWaits(longerThan limit: Duration?) throws(Failure) {
        // A limit of zero would mean none.
        let limit = limit.map { max(nanoseconds($0), 1) } ?? 0
        if ilk_set_hang_limit(limit) != ILK_OK { throw .thread }
    }

    // MARK: The whole

    /// How a diagnosis is written.
    public enum Form: Sendable {
        /// For people.
        case text
        /// For programs, and for `viewer/diagnosis.html`, which draws it; `docs/diagnosis.md` has the keys.
        case json
        /// A page of HTML that carries the JSON; `viewer/diagnosis.html` of the package draws it if it is in the same
        /// folder.
        case page
    }

    /// Writes what is known of all threads and objects to a file descriptor. Takes no lock of the library but the
    /// tables' own. Blocks while the descriptor does. Calls `ilk_write_diagnosis`.
    ///
    /// - Throws: ``Failure/writing(_:)``; a part may have been written.
    public static func write(to fileDescriptor: Int32, as form: Form) throws(Failure) {
        let form =
            switch form {
            case .text: ILK_AS_TEXT
            case .json: ILK_AS_JSON
            case .page: ILK_AS_PAGE
            }
        if ilk_write_diagnosis(fileDescriptor, form) != ILK_OK { throw .writing(errno) }
    }

    /// What is known of all threads and objects, as a string, by way of a temporary file.
    ///
    /// - Throws: ``Failure/writing(_:)``.
    public static func report(as form: Form) throws(Failure) -> String {
        guard let file = tmpfile() else { throw .writing(errno) }
        defer { fclose(file) }
        try write(to: fileno(file), as: form)
        let size = lseek(fileno(file), 0, SEEK_CUR)
        var bytes = [UInt8](repeating: 0, count: Int(max(size, 0)))
        let read = pread(fileno(file), &bytes, bytes.count, 0)
        guard read == bytes.count else { throw .writing(errno) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Diagnostics.Report {
    fileprivate init(_ report: ilk_report) {
        switch report.kind {
        case ILK_REPORT_INVERSION: kind = .inversion
        case ILK_REPORT_SELF_WAIT: kind = .selfWait
        default: kind = .hang
        }
        sentence = String(cString: report.sentence)
        text = String(cString: report.text)
    }
}
