// SPDX-License-Identifier: Apache-2.0
//
// What the facade's branches for Apple systems use of the module Darwin, with the types that Swift gives it there. For
// type checks: no body is ever run.

// The documentation is Apple's.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported import DarwinTypes

public typealias pid_t = Int32

// MARK: Errors

public var errno: Int32 {
    get { fatalError() }
    set { fatalError() }
}

public var EINTR: Int32 { 4 }
public var EBADF: Int32 { 9 }
public var EISDIR: Int32 { 21 }
public var ENOTSUP: Int32 { 45 }

public func strerror(_: Int32) -> UnsafeMutablePointer<CChar>! { fatalError() }
public func abort() -> Never { fatalError() }

// MARK: Descriptors

public var F_SETFD: Int32 { 2 }
public var F_GETFL: Int32 { 3 }
public var F_SETFL: Int32 { 4 }
public var FD_CLOEXEC: Int32 { 1 }
public var O_RDONLY: Int32 { 0 }
public var O_WRONLY: Int32 { 1 }
public var O_ACCMODE: Int32 { 3 }
public var O_NONBLOCK: Int32 { 4 }
public var S_IFMT: mode_t { 0o170000 }
public var S_IFDIR: mode_t { 0o040000 }
public var S_IFREG: mode_t { 0o100000 }

@discardableResult
public func fstat(_: Int32, _: UnsafeMutablePointer<stat>!) -> Int32 { fatalError() }
public func fcntl(_: Int32, _: Int32) -> Int32 { fatalError() }
public func fcntl(_: Int32, _: Int32, _: Int32) -> Int32 { fatalError() }
public func fcntl(_: Int32, _: Int32, _: UnsafeMutableRawPointer) -> Int32 { fatalError() }
@discardableResult
public func pipe(_: UnsafeMutablePointer<Int32>!) -> Int32 { fatalError() }
@discardableResult
public func read(_: Int32, _: UnsafeMutableRawPointer!, _: Int) -> Int { fatalError() }
@discardableResult
public func write(_: Int32, _: UnsafeRawPointer!, _: Int) -> Int { fatalError() }

// MARK: Files

public struct FILE {}
public typealias off_t = Int64

public var SEEK_CUR: Int32 { 1 }

public func tmpfile() -> UnsafeMutablePointer<FILE>! { fatalError() }
public func fileno(_: UnsafeMutablePointer<FILE>!) -> Int32 { fatalError() }
@discardableResult
public func fclose(_: UnsafeMutablePointer<FILE>!) -> Int32 { fatalError() }
public func lseek(_: Int32, _: off_t, _: Int32) -> off_t { fatalError() }
public func pread(_: Int32, _: UnsafeMutableRawPointer!, _: Int, _: off_t) -> Int { fatalError() }

// MARK: The process

public var _SC_PAGESIZE: Int32 { 29 }

public func getpid() -> pid_t { fatalError() }
public func sysconf(_: Int32) -> Int { fatalError() }

// MARK: Signals

public var SIGHUP: Int32 { 1 }
public var SIGINT: Int32 { 2 }
public var SIGQUIT: Int32 { 3 }
public var SIGILL: Int32 { 4 }
public var SIGTRAP: Int32 { 5 }
public var SIGABRT: Int32 { 6 }
public var SIGFPE: Int32 { 8 }
public var SIGKILL: Int32 { 9 }
public var SIGBUS: Int32 { 10 }
public var SIGSEGV: Int32 { 11 }
public var SIGSYS: Int32 { 12 }
public var SIGALRM: Int32 { 14 }
public var SIGTERM: Int32 { 15 }
public var SIGSTOP: Int32 { 17 }
public var SIGTSTP: Int32 { 18 }
public var SIGCONT: Int32 { 19 }
public var SIGCHLD: Int32 { 20 }
public var SIGWINCH: Int32 { 28 }
public var SIGUSR1: Int32 { 30 }
public var SIGUSR2: Int32 { 31 }
public var SA_RESTART: Int32 { 2 }

@discardableResult
public func sigaction(
    _: Int32,
    _: UnsafePointer<sigaction>!,
    _: UnsafeMutablePointer<sigaction>!
) -> Int32 { fatalError() }
@discardableResult
public func sigfillset(_: UnsafeMutablePointer<sigset_t>!) -> Int32 { fatalError() }
public func sigismember(_: UnsafePointer<sigset_t>!, _: Int32) -> Int32 { fatalError() }
public func strsignal(_: Int32) -> UnsafeMutablePointer<CChar>! { fatalError() }

// MARK: Threads

public struct _opaque_pthread_t {}
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>

public struct sched_param {
    public var sched_priority: Int32
    public init() { fatalError() }
}
@discardableResult
public func pthread_setname_np(_: UnsafePointer<CChar>) -> Int32 { fatalError() }
public func pthread_self() -> pthread_t { fatalError() }
@discardableResult
public func pthread_getschedparam(
    _: pthread_t,
    _: UnsafeMutablePointer<Int32>?,
    _: UnsafeMutablePointer<sched_param>?
) -> Int32 { fatalError() }

public struct pthread_attr_t {
    public init() { fatalError() }
}

public struct qos_class_t: RawRepresentable, Equatable, Sendable {
    public var rawValue: UInt32
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

public var PTHREAD_CREATE_DETACHED: Int32 { 2 }

@discardableResult
public func pthread_attr_init(_: UnsafeMutablePointer<pthread_attr_t>) -> Int32 { fatalError() }
@discardableResult
public func pthread_attr_destroy(_: UnsafeMutablePointer<pthread_attr_t>) -> Int32 { fatalError() }
@discardableResult
public func pthread_attr_setdetachstate(
    _: UnsafeMutablePointer<pthread_attr_t>,
    _: Int32
) -> Int32 { fatalError() }
@discardableResult
public func pthread_attr_setstacksize(
    _: UnsafeMutablePointer<pthread_attr_t>,
    _: Int
) -> Int32 { fatalError() }
@discardableResult
public func pthread_attr_set_qos_class_np(
    _: UnsafeMutablePointer<pthread_attr_t>,
    _: qos_class_t,
    _: Int32
) -> Int32 { fatalError() }
@discardableResult
public func pthread_create(
    _: UnsafeMutablePointer<pthread_t?>!,
    _: UnsafePointer<pthread_attr_t>?,
    _: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 { fatalError() }
