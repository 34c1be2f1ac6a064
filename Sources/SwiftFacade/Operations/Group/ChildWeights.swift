// SPDX-License-Identifier: Apache-2.0
//
// The parts of a group's progress: nothing but numbers until a caller asks for the progress.

import Foundation

struct ChildWeights {
    /// The greatest weight of one child: the sum of two thousand million children fits.
    static let most: Int64 = 1 << 32

    private var unfinished: [ObjectIdentifier: (child: Operation, weight: Int64)] = [:]
    private var ended: Int64 = 0
    /// The group's, once it was asked for. Children added later are attached to it.
    var progress: OperationProgress?

    mutating func add(_ child: Operation, _ weight: Int64) {
        unfinished[ObjectIdentifier(child)] = (child, weight)
    }

    mutating func end(_ child: Operation) {
        if let part = unfinished.removeValue(forKey: ObjectIdentifier(child)) { ended += part.weight }
    }

    /// Attaches what there is to a new progress.
    func fill(_ progress: OperationProgress) {
        progress.grow(byDone: ended)
        for (child, weight) in unfinished.values { Self.attach(child, weight, to: progress) }
    }

    static func attach(_ child: Operation, _ weight: Int64, to progress: OperationProgress) {
        if let child = child as? any EndingOperation {
            progress.grow(by: weight, moved: child.progress)
        } else {
            let part = OperationProgress(isTree: false)
            progress.grow(by: weight, moved: part)
            ChildEnd.of(child) { _ in part.end() }
        }
    }
}
