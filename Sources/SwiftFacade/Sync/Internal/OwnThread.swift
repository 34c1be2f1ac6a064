// SPDX-License-Identifier: Apache-2.0
//
// Threads for work that blocks. libdispatch's pool on Linux starts with a thread for each processor and adds one a
// second when work stalls: four closures that sleep on two processors wait for each other. Here each closure has a
// thread of its own, made in ten microseconds.
//
// Foundation's `Thread` on Linux does not report that the system made no thread: a waiter for the closure would wait
// for ever. So pthread_create makes it.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The system made no thread: the process, its user or the machine has reached its limit, or there is no memory for
/// one.
public struct ThreadUnavailable: Error, Hashable, CustomStringConvertible {
    /// What `pthread_create` answered, as in `errno`.
    public let code: Int32

    /// Makes the error.
    public init(code: Int32) { self.code = code }

    /// A sentence with the system's reason.
    public var description: String { "the system made no thread: \(Self.reason(code))" }

    package static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}

package enum OwnThread {
    /// Runs `body` on a new thread, with the scheduling of the calling one. The system shows the first 15 bytes of the
    /// name.
    ///
    /// - Parameters:
    ///   - quality: The class of quality of service, where the system has such.
    ///   - stackSize: In bytes; `nil`: the system's.
    /// - Throws: Where the system makes no thread. `body` has been released and will not run.
    package static func start(
        named name: String,
        quality: UInt32? = nil,
        stackSize: Int? = nil,
        _ body: @escaping @Sendable () -> Void
    ) throws(ThreadUnavailable) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, detached)
        setQuality(quality, of: &attributes)
        if let stackSize {
            let answer = pthread_attr_setstacksize(&attributes, wholePages(stackSize))
            if answer != 0 { throw ThreadUnavailable(code: answer) }
        }
        let work = Unmanaged.passRetained(ThreadWork(name, body))
        let answer = createThread(&attributes, work.toOpaque())
        if answer != 0 {
            work.release()
            throw ThreadUnavailable(code: answer)
        }
    }

    /// Starts a thread for a caller that needs it: if the system makes none, reports that and ends the process.
    package static func run(named name: String, _ body: @escaping @Sendable () -> Void) {
        do {
            try start(named: name, body)
        } catch {
            misuse("Thread", "\"\(name)\"", "\(error), and without it nothing would go on")
        }
    }

    /// How the system schedules a thread.
    package struct Scheduling: Hashable, Sendable {
        package var policy: Int32
        package var priority: Int32
        package var nice: Int32
    }

    /// That of the calling thread, which a thread that it starts inherits.
    package static var scheduling: Scheduling {
        var parameters = sched_param()
        let policy = ownPolicy(&parameters)
        return Scheduling(policy: policy, priority: parameters.sched_priority, nice: ownNice())
    }

    /// Gives the calling thread the process's nice value plus `nice`. Returns 0, or the reason as in `errno`.
    package static func addNice(_ nice: Int32) -> Int32 {
        nice == 0 ? 0 : addNiceToThread(nice)
    }

    private static func wholePages(_ size: Int) -> Int {
        let page = sysconf(Int32(_SC_PAGESIZE))
        let (sum, overflow) = size.addingReportingOverflow(page - 1)
        return overflow ? size : sum / page * page
    }

    /// The entry of a new thread. `context` is the work, retained for it.
    fileprivate static func main(_ context: UnsafeMutableRawPointer) {
        let work = Unmanaged<ThreadWork>.fromOpaque(context).takeRetainedValue()
        showThread(as: work.name)
        work.body()
    }
}

private final class ThreadWork: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

#if canImport(Darwin)
private let detached = PTHREAD_CREATE_DETACHED

private func createThread(_ attributes: inout pthread_attr_t, _ work: UnsafeMutableRawPointer) -> Int32 {
    var thread: pthread_t?
    return pthread_create(
        &thread,
        &attributes,
        {
            OwnThread.main($0)
            return nil
        },
        work
    )
}

private func setQuality(_ quality: UInt32?, of attributes: inout pthread_attr_t) {
    if let quality { pthread_attr_set_qos_class_np(&attributes, qos_class_t(quality), 0) }
}

private func showThread(as name: String) {
    _ = pthread_setname_np(name)
}

private func ownPolicy(_ parameters: inout sched_param) -> Int32 {
    var policy: Int32 = 0
    pthread_getschedparam(pthread_self(), &policy, &parameters)
    return policy
}

private func ownNice() -> Int32 { 0 }

/// Darwin has nice values of processes only.
private func addNiceToThread(_: Int32) -> Int32 { ENOTSUP }
#else
private let detached = Int32(PTHREAD_CREATE_DETACHED)

private func createThread(_ attributes: inout pthread_attr_t, _ work: UnsafeMutableRawPointer) -> Int32 {
    var thread = pthread_t()
    return pthread_create(
        &thread,
        &attributes,
        {
            OwnThread.main($0!)
            return nil
        },
        work
    )
}

/// Linux has no such classes.
private func setQuality(_: UInt32?, of _: inout pthread_attr_t) {}

/// Asks the kernel: pthread_getschedparam of glibc answers with what pthread_setschedparam set. musl has only that one.
private func ownPolicy(_ parameters: inout sched_param) -> Int32 {
    var policy = sched_getscheduler(0)
    if policy < 0 || sched_getparam(0, &parameters) != 0 {
        pthread_getschedparam(pthread_self(), &policy, &parameters)
    }
    return policy
}

private func ownNice() -> Int32 { getpriority(processes, 0) }

/// The process's value is that of its first thread; Linux keeps one for each thread.
private func addNiceToThread(_ nice: Int32) -> Int32 {
    let wanted = getpriority(processes, id_t(getpid())) + nice
    return setpriority(processes, 0, wanted) == 0 ? 0 : errno
}

/// PRIO_PROCESS, an enumeration in glibc and a number in musl.
private let processes: Int32 = 0

/// The longest name that the system keeps, in bytes.
private let mostOfName = 15

/// Names the calling thread. `pthread_setname_np` refuses longer names, and the system cuts them inside a character.
private func showThread(as name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    var size = 0
    let kept = withoutZeros(name).unicodeScalars.prefix { scalar in
        size += UTF8.width(scalar)
        return size <= mostOfName
    }
    var name = String(kept)
    // A thread without a name works as well.
    name.withUTF8 { _ = write(file, $0.baseAddress, $0.count) }
    close(file)
}
#endif
