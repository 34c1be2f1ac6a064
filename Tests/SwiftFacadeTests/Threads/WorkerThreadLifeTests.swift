// SPDX-License-Identifier: Apache-2.0
//
// Worker threads: options, waiting for the end, misuse.

import Foundation
import Testing

import Interlock
// contract: WorkerThread, WorkerThreadError
@Suite(.timeLimit(.minutes(10))) struct WorkerThreadLifeTests {
    private static func make(
        capacity: Int = 1,
        stackSize: Int? = nil,
        nice: Int = 0,
        _ handler: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws -> WorkerThread<Int> {
        try WorkerThread(
            name: "life",
            mailboxCapacity: capacity,
            stackSize: stackSize,
            nice: nice,
            handler: handler
        )
    }

    // MARK: Options

    @Test func optionsThatCannotBeAreNamed() {
        func refusal(_ make: () throws -> WorkerThread<Int>) -> String {
            do {
                _ = try make()
                return "none"
            } catch { return "\(error)" }
        }
        #expect(refusal { try Self.make(stackSize: 1_024) } == "stackSize: 1024; a thread needs 65536 bytes")
        #expect(refusal { try Self.make(nice: 20) } == "nice: 20; it is -20 to 19")
        #expect(refusal { try Self.make(nice: -21) } == "nice: -21; it is -20 to 19")
        #expect(
            refusal { try Self.make(capacity: 0) }
                == "mailboxCapacity: 0; a mailbox has room for 1 message or more"
        )
    }

    @Test(.enabled(if: onLinux, "other systems have nice values of processes only"))
    func theThreadHasItsNiceValue() async throws {
        let nice = Trace<Int32>()
        let worker = try Self.make(nice: 3) { _ in nice.add(addedNice()) }
        try worker.start()
        #expect(worker.tryPost(1) == .pushed)
        worker.close()
        try await worker.join()
        #expect(nice.events == [3])
    }

    /// Recursion until the stack has grown by `size` bytes, in steps of a kilobyte: a sanitizer bounds the depth.
    private static func grow(_ size: Int, from start: UInt? = nil) -> Int {
        withUnsafeTemporaryAllocation(byteCount: 1_024, alignment: 16) { memory in
            let here = UInt(bitPattern: memory.baseAddress!)
            let start = start ?? here
            return start - here < UInt(size) ? 1 + grow(size, from: start) : 0
        }
    }

    // The system's stacks are of 8 MB or less: there the process would end.
    @Test(.ownThreads) func theThreadHasItsStack() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            let worker = try WorkerThreadLifeTests.make(stackSize: 64 << 20) { size in
                exit(WorkerThreadLifeTests.grow(size) > 0 ? EXIT_SUCCESS : 1)
            }
            try worker.start()
            guard worker.tryPost(12 << 20).isPushed else { exit(2) }
            try await worker.join()
            exit(3)
        }
    }

    @Test(.ownThreads, .enabled(if: onLinux, "other systems have nice values of processes only"))
    func aRefusedNiceValueIsAnErrorAndTheThreadMayBeStartedLater() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            // Without privilege, and without room below 0.
            var none = rlimit(rlim_cur: 0, rlim_max: 0)
            guard setNiceLimit(&none) == 0, geteuid() != 0 || setuid(65_534) == 0 else { exit(1) }
            let worker = try WorkerThreadLifeTests.make(nice: -5)
            guard worker.tryPost(1).isPushed else { exit(2) }
            for _ in 0..<2 {
                do {
                    try worker.start()
                    exit(3)
                } catch WorkerThreadError.refusedNice(-5, let code) {
                    guard code == EACCES || code == EPERM else { exit(4) }
                }
                guard worker.state == .idle, worker.waitingMessages == 1 else { exit(5) }
            }
            guard
                "\(WorkerThreadError.refusedNice(-5, code: EACCES))"
                    == "the system refused the nice value -5: "
                    + "Permission denied"
            else { exit(6) }
            worker.close()
            exit(worker.closeNow() == [1] ? EXIT_SUCCESS : 7)
        }
    }

    @Test(.ownThreads, .enabled(if: onLinux, "RLIMIT_NPROC counts threads there"))
    func aThreadThatTheSystemRefusesMayBeStartedLater() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            // More than the address space: no thread.
            let worker = try WorkerThreadLifeTests.make(stackSize: 1 << 50)
            guard worker.tryPost(1).isPushed else { exit(1) }
            do {
                try worker.start()
                exit(2)
            } catch WorkerThreadError.unavailable(let error) {
                guard error.code != 0 else { exit(3) }
            }
            guard worker.state == .idle, worker.waitingMessages == 1 else { exit(4) }
            exit(worker.closeNow() == [1] ? EXIT_SUCCESS : 5)
        }
    }

    #if os(Linux)
    @Test(.ownThreads) func aThreadThatWasRefusedOnceRunsWhenItIsStartedAgain() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            // Root is exempt from the limit.
            guard geteuid() != 0 || setuid(65_534) == 0 else { exit(1) }
            let threads = __rlimit_resource_t(__RLIMIT_NPROC.rawValue)
            var most = rlimit()
            guard getrlimit(threads, &most) == 0 else { exit(2) }
            var none = rlimit(rlim_cur: 1, rlim_max: most.rlim_max)
            let worker = try WorkerThreadLifeTests.make { exit(Int32($0)) }
            guard worker.tryPost(Int(EXIT_SUCCESS)).isPushed, setrlimit(threads, &none) == 0 else { exit(3) }
            do {
                try worker.start()
                exit(4)
            } catch WorkerThreadError.unavailable {}
            guard worker.state == .idle, setrlimit(threads, &most) == 0 else { exit(5) }
            try worker.start()
            try await worker.join()
            exit(6)
        }
    }
    #endif

    // MARK: Joining

    // worker            joiners                                test
    // handles: waits    a thread, a task, tasks with limits
    //                                                          cancels one
    // goes on, ends     the others have the end
    @Test func joiningWaitsForTheEndWithLimitAndCancellation() async throws {
        let (begun, open, ended) = (Handshake(), Event(), Counter())
        let worker = try Self.make { _ in
            begun.give()
            open.wait()
            ended.increment()
        }
        try worker.start()
        #expect(worker.tryPost(1) == .pushed)
        await begun.taken()
        worker.close()
        #expect(try await !worker.join(timeout: .milliseconds(2)))
        #expect(try await !worker.join(until: .now + .milliseconds(2)))
        #expect(try !block(worker, joiningIn: .milliseconds(2)))
        let given = Task { try await worker.join() }
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        let seen = Trace<Int>()
        let threads = [
            TestThread { if (try? worker.join()) != nil { seen.add(ended.value) } },
            TestThread {
                if (try? worker.join(until: .now + .seconds(1_000))) == true { seen.add(ended.value) }
            },
        ]
        let task = Task { try await worker.join(timeout: .seconds(1_000)) }
        open.happen()
        #expect(try await task.value)
        for thread in threads { thread.join() }
        #expect(seen.events == [1, 1])
        #expect(try await worker.join(timeout: .seconds(-1)) && block(worker, joiningIn: .zero))
    }

    // MARK: Misuse

    @Test(.ownThreads) func startingTwiceIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            let worker = try WorkerThreadLifeTests.make()
            try worker.start()
            try worker.start()
        }
        #expect(
            result?.report.contains(
                "interlock: WorkerThread.start(\"life\"): it was started already; it is running"
            )
                == true
        )
        let ended = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            let worker = try WorkerThreadLifeTests.make()
            try worker.start()
            worker.close()
            try await worker.join()
            try worker.start()
        }
        #expect(ended?.report.contains("it was started already; it is ended") == true)
    }

    /// Runs `body` in the handler of a thread with room for one message, with itself.
    private static func inHandler(_ body: @escaping @Sendable (WorkerThread<Int>) -> Void) async throws {
        alarm(240)
        let itself = Promise<WorkerThread<Int>>()
        let worker = try make { _ in
            itself.block()
            body(itself.value!)
            exit(EXIT_SUCCESS)
        }
        itself.fulfil(worker)
        try worker.start()
        _ = worker.tryPost(1)
        try await worker.join()
    }

    @Test(.ownThreads) func joiningItselfIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            try await WorkerThreadLifeTests.inHandler { try? $0.join() }
        }
        let sentence =
            "interlock: WorkerThread.join(\"life\"): called by the thread itself, and it has not ended: the thread would "
            + "wait for itself for ever"
        #expect(result?.report.contains(sentence) == true)
    }

    @Test(.ownThreads) func postingIntoItsOwnFullMailboxIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            try await WorkerThreadLifeTests.inHandler { worker in
                guard worker.isCurrent, worker.post(2).isPushed else { exit(3) }
                _ = worker.post(3)
            }
        }
        let sentence =
            "interlock: WorkerThread.post(\"life\"): called by the thread itself, and its mailbox of 1 messages is full: "
            + "the thread would wait for itself for ever"
        #expect(result?.report.contains(sentence) == true)
        await #expect(processExitsWith: .success) {
            try await WorkerThreadLifeTests.inHandler { worker in
                guard worker.post(2).isPushed, worker.tryPost(3) == .full(3) else { exit(3) }
                // A limit ends the wait.
                guard worker.post(3, timeout: .milliseconds(1)) == .full(3) else { exit(4) }
                worker.close()
                guard worker.post(3) == .closed(3) else { exit(5) }
            }
        }
    }
}

/// The nice value of the calling thread beyond the process's, on Linux.
func addedNice() -> Int32 {
    // PRIO_PROCESS, an enumeration in glibc and a number in musl.
    getpriority(0, 0) - getpriority(0, id_t(getpid()))
}

#if os(Linux)
private func setNiceLimit(_ limit: inout rlimit) -> Int32 {
    setrlimit(__rlimit_resource_t(__RLIMIT_NICE.rawValue), &limit)
}
#else
private func setNiceLimit(_: inout rlimit) -> Int32 { -1 }
#endif
