// SPDX-License-Identifier: Apache-2.0
//
// A job of the C pool and what it does, in one block of memory: the C job, or the C timer, and behind it a header that
// its context points to.
//
//   node                             timer
//   0   ilk_job                      0   ilk_timer, which begins with its ilk_job
//   40  PoolJobHeader                80  PoolJobHeader
//
// A node is 64 bytes, a cache line, and is used again (PoolCore). The header is full from submission until the job
// begins or is handed back: the C core promises one of the two, once, and each moves the header out. So what a job
// holds is released once.

import CInterlock
import InterlockSync

/// What a job does. Two words, so that a node with a job of whatever kind is a cache line.
package enum PoolWork {
    /// Fire and forget: handed back to the caller of `closeNow`.
    case closure(@Sendable () -> Void)
    /// A job of the Swift runtime: a part of a task, which only runs.
    case task(UnownedJob)
    /// Work with a waiter, or several steps.
    case object(any PoolObject)
}

/// Work that a pool may hand back.
package protocol ReturnableWork: AnyObject, Sendable {
    /// The pool was closed at once: the work will not run.
    func handBack(to core: PoolCore)
}

/// Work that knows both of its ends. One of the two is called, once.
package protocol PoolObject: ReturnableWork {
    /// On a thread of the pool.
    func run()
}

/// The part of a job that is the facade's.
struct PoolJobHeader {
    /// The core outlives the C pool, and so every job in it.
    let core: Unmanaged<PoolCore>
    let work: PoolWork
}

/// A block with a C job at its start.
struct PoolNode {
    let memory: UnsafeMutableRawPointer

    static var size: Int { wholeCacheLines(headerOffset + MemoryLayout<PoolJobHeader>.size) }
    static var headerOffset: Int { MemoryLayout<ilk_job>.stride }

    static func allocate() -> PoolNode { PoolNode(memory: .allocate(byteCount: size, alignment: cacheLine)) }

    var job: UnsafeMutablePointer<ilk_job> { memory.assumingMemoryBound(to: ilk_job.self) }

    var header: UnsafeMutablePointer<PoolJobHeader> {
        (memory + PoolNode.headerOffset).assumingMemoryBound(to: PoolJobHeader.self)
    }
}

extension PoolWork {
    /// Runs the work as a job of `core`, on one of its threads.
    @inline(__always)
    consuming func perform(on core: PoolCore) {
        switch consume self {
        case .closure(let closure): closure()
        case .task(let job): job.runSynchronously(on: core.taskExecutor!)
        case .object(let object): object.run()
        }
    }

    /// The work will not run on `core`.
    consuming func handBack(to core: PoolCore) {
        switch consume self {
        case .closure(let closure): core.returnToCaller(closure)
        // A task has no other end than to run.
        case .task(let job): WorkerPool.shared.take(job)
        case .object(let object): object.handBack(to: core)
        }
    }
}

/// The function of a node's job. The node is free before the work begins: jobs that the work submits find it in cache.
func runPoolNode(_ context: UnsafeMutableRawPointer?) {
    let header = context!.assumingMemoryBound(to: PoolJobHeader.self)
    let full = header.move()
    full.core._withUnsafeGuaranteedRef { core in
        core.recycle(PoolNode(memory: context! - PoolNode.headerOffset))
        PoolThread.runsJob { full.work.perform(on: core) }
    }
}

/// The function of a timer's job, whose memory is its owner's.
func runPoolTimer(_ context: UnsafeMutableRawPointer?) {
    let full = context!.assumingMemoryBound(to: PoolJobHeader.self).move()
    let core = full.core.takeUnretainedValue()
    PoolThread.runsJob { full.work.perform(on: core) }
}

/// The function that `closeNow` gives to the C pool, with the core. Where the context points says what it is: a header
/// is behind its job; an object that the job is a part of, a `ReturnableWork`, begins before it.
func handBackPoolJob(_ core: UnsafeMutableRawPointer?, _ job: UnsafeMutablePointer<ilk_job>?) {
    let core = Unmanaged<PoolCore>.fromOpaque(core!).takeUnretainedValue()
    let memory = UnsafeMutableRawPointer(job!)
    let context = job!.pointee.context!
    if context < memory {
        let object = Unmanaged<AnyObject>.fromOpaque(context).takeUnretainedValue()
        return (object as! any ReturnableWork).handBack(to: core)
    }
    let full = context.assumingMemoryBound(to: PoolJobHeader.self).move()
    if context - memory == PoolNode.headerOffset { core.recycle(PoolNode(memory: memory)) }
    full.work.handBack(to: core)
}
