// SPDX-License-Identifier: Apache-2.0
//
// The experiment on an array without a guard, in child processes: it corrupts the heap, and mostly crashes.

import Foundation

/// The experiment on an unprotected array.
package enum UnsafeTrials {
    /// How a child process ended.
    package enum Ending: Equatable, Sendable {
        /// It lived to print the number of elements.
        case finished(count: Int)
        case crashed(signal: Int32)
        /// It was killed at the limit.
        case hung

        /// Whether every element was there.
        package var isComplete: Bool { self == .finished(count: SafeTrials.iterations) }
    }

    /// A surviving child repeats the experiment: the threads of one run may not run at the same time.
    package static let runsInAChild = 50

    /// The child's part: runs in this process, until a run loses elements or crashes. Prints the number of elements
    /// left.
    package static func runInThisProcess() {
        // A crash is expected: no core file.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(CInt(RLIMIT_CORE.rawValue), &none)
        var count = SafeTrials.iterations
        for _ in 0..<runsInAChild where count == SafeTrials.iterations {
            count = SafeTrials.fill(UnprotectedArray.self).count
        }
        print(count)
    }

    /// The parent's part: starts a child and answers how it ended. Blocks for `limit` at most.
    ///
    /// - Parameters:
    ///   - executable: A program that, given `arguments`, calls ``runInThisProcess()`` and exits.
    package static func run(
        executable: URL,
        arguments: [String],
        limit: Duration = .seconds(10)
    ) throws -> Ending {
        let child = Process()
        child.executableURL = executable
        child.arguments = arguments
        // A backtrace would take seconds.
        child.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) {
            $1
        }
        let output = Pipe()
        child.standardInput = FileHandle.nullDevice
        child.standardOutput = output
        child.standardError = FileHandle.nullDevice
        let ended = DispatchSemaphore(value: 0)
        child.terminationHandler = { _ in ended.signal() }
        try child.run()
        let seconds = limit / .seconds(1)
        guard ended.wait(timeout: .now() + seconds) == .success else {
            kill(child.processIdentifier, SIGKILL)
            ended.wait()
            return .hung
        }
        if child.terminationReason == .uncaughtSignal { return .crashed(signal: child.terminationStatus) }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        guard let count = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            // The runtime's own checks end a process with a status on some systems.
            return .crashed(signal: child.terminationStatus)
        }
        return .finished(count: count)
    }
}
