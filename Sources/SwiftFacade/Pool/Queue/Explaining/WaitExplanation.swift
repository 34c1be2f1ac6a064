// SPDX-License-Identifier: Apache-2.0
//
// What a graph of operations waits for, as a value and as text.

/// What operations that have not finished wait for: the answer of `explainWaiting()`.
///
/// Read while others work: each entry was true at one moment, and they need not be of the same.
public struct WaitExplanation: Sendable, Hashable, CustomStringConvertible {
    /// One operation and all that it waits for.
    public struct Entry: Sendable, Hashable, CustomStringConvertible {
        /// Its name, or its type and address.
        public let operation: String
        /// What it waits for; empty where it waits for nothing that can be seen, and is about to be started.
        public let reasons: [WaitReason]

        /// A line: `decode: waits for download; is in no queue and was not started`.
        public var description: String {
            let sentence = reasons.map(\.description).joined(separator: "; ")
            return "\(operation): \(sentence.isEmpty ? "is about to be started" : sentence)"
        }
    }

    /// The operations asked about, then those upstream: each comes once, before what only it waits for.
    public let entries: [Entry]
    /// Operations that wait for each other, each for the next and the last for the first: none of them can ever start.
    /// Only an edge of another class than `AsyncOperation` closes such a cycle unreported. Nil where there is none.
    public let cycle: [String]?

    /// The entry of the operation with this name, the first one of several.
    public subscript(operation: String) -> Entry? { entries.first { $0.operation == operation } }

    /// A line for each entry, and one for the cycle.
    public var description: String {
        if entries.isEmpty { return "nothing waits" }
        var lines = entries.map(\.description)
        if let cycle {
            lines.append(
                "\((cycle + cycle.prefix(1)).joined(separator: " → ")): wait for each other for ever"
            )
        }
        return lines.joined(separator: "\n")
    }
}
