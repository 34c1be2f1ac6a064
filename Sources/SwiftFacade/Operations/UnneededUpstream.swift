// SPDX-License-Identifier: Apache-2.0
//
// Cancellation up the graph, for operations that have opted in: one that nothing waits for any longer is cancelled,
// then what only that waited for. A dependent leaves when it is cancelled, finished before its start or gone, or its
// edge is removed. Dependents know whether anything upstream has opted in; the others pay nothing.
//
//     dependent leaves ──▶ any gate of the upstream with a dependent that goes on? a hook or a wait?
//                              no: cancel it, and it leaves those upstream
//
// A long chain is cancelled link by link, in a loop of the thread.

import Foundation

extension AsyncOperation {
    /// Whether this operation is cancelled when nothing needs its result any longer. False by default.
    ///
    /// Set to true, it is cancelled when the last operation that waited for it was cancelled or finished meanwhile, is
    /// gone, or no longer depends on it; unless a caller waits for its result or has an ``onFinish(_:)`` hook. The same
    /// then holds for those upstream that have opted in. One that nothing ever waited for goes on.
    ///
    /// To be set before its dependents are cancelled; may be set from any thread. Dependents of other classes than
    /// `AsyncOperation` are not seen. A dependent that is added while the last other one leaves may come too late.
    public final var cancelsUnneeded: Bool {
        get { record.withLock { $0.cancelsUnneeded } }
        set {
            let gates = record.withLock { record in
                record.cancelsUnneeded = newValue
                return newValue ? record.held.gates : []
            }
            for gate in gates { gate.waitingDependent?.watchUpstream() }
        }
    }

    func watchUpstream() { record.withLock { $0.watchesUpstream = true } }

    var isUnneeded: Bool {
        let (gates, mayBe) = record.withLock { record in
            let mayBe = record.cancelsUnneeded && !record.hasEnded && record.hookCount == 0
            return (mayBe ? record.held.gates : [], mayBe)
        }
        return mayBe && !gates.contains { $0.waitingDependent?.needsUpstream == true }
    }

    var needsUpstream: Bool { record.withLock { !$0.isCancelled && $0.ending == nil } }
}

enum UnneededUpstream {
    private static let loop = ThreadLoop<[Operation]> { sources in
        for source in sources.reversed() {
            if let gated = source as? any GatedOperation, gated.isUnneeded { gated.cancel() }
        }
    }

    /// A dependent of these needs them no longer.
    static func left(_ sources: [Operation]) { if !sources.isEmpty { loop.run(sources) } }
}
