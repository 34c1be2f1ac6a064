// SPDX-License-Identifier: Apache-2.0
//
// Mutual exclusion by category: of the operations in a category no more than its limit work at the same time, in
// whatever queues they are. The categories of the process and their places are in `ExclusionRegistry.swift`.

import Foundation
import InterlockSync

/// A name under which operations exclude each other, in the whole process.
///
/// ```swift
/// let keychain = ExclusionCategory("keychain")
/// let downloads = ExclusionCategory("downloads", limit: 4)
/// let page = AsyncOperation<Image>(name: "page") { try await render(url) }
/// page.excludes(keychain, downloads)
/// ```
///
/// Values of the same name are of the same category, and equal where their limits are. A value of constants: may be
/// used from any thread.
public struct ExclusionCategory: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let name: String
    /// How many operations of the category work at once at most.
    public let limit: Int

    /// Makes a category of which `limit` operations work at a time; below 1 is misuse. Operations that use the category
    /// at the same time must give the same limit; two different ones are misuse, named when the second operation comes.
    public init(_ name: String, limit: Int = 1) {
        if limit < 1 {
            let sentence = "a limit of \(limit): at least one operation must be allowed"
            misuse("ExclusionCategory.init", "\"\(name)\"", sentence)
        }
        self.name = name
        self.limit = limit
    }

    /// The operations that hold the category and all their others, by name, first come first. The answer may be old.
    public var holders: [String] { ExclusionRegistry.names(in: name, holding: true) }

    /// The operations that hold the category and wait for another of theirs, and then those that wait for it in the
    /// order in which they will get it, by name. The answer may be old.
    public var waiters: [String] { ExclusionRegistry.names(in: name, holding: false) }

    /// The name.
    public var description: String { name }
}

extension AsyncOperation {
    /// Lets the work run only beside so many operations of each of these categories as the category's limit allows.
    ///
    /// All categories of the operation are taken together, as the last thing before its work (after dependencies, delay
    /// and conditions), kept through all attempts of a ``RetryPolicy`` and their pauses, and given back when it has
    /// finished, however it does, or has been dropped unfinished. First come, first served, in each category: no
    /// operation is overtaken, and no two wait for each other's categories. While it waits, the operation keeps its
    /// place in its queue, but no thread; a cancellation ends it at once.
    ///
    /// One cycle is left: what holds a category waits for an operation that needs it. Where a `flatMap` step holds it,
    /// and waits for what its closure made, the operation or the step fails with ``OperationDeadlocked``. A group whose
    /// child needs what the group holds never ends; ``explainWaiting()`` names category and holder. Waits inside a
    /// closure are not seen.
    ///
    /// To be called before the start, later is misuse; further calls add categories. May be called from any thread.
    ///
    /// - Complexity: O(*c*) in its categories to take them, and in their limits to give them back, whatever else waits.
    @discardableResult
    public final func excludes(_ categories: ExclusionCategory...) -> Self {
        var other: ExclusionCategory?
        changePolicies("excludes") { policies in
            for category in categories {
                let known = policies.categories.first { $0.name == category.name }
                if known == nil { policies.categories.append(category) }
                if let known, known != category { other = known }
            }
        }
        if let other {
            let sentence =
                "the category \"\(other.name)\" is given a limit of \(other.limit), and another one"
            misuse("AsyncOperation.excludes", displayName, sentence)
        }
        return self
    }
}
