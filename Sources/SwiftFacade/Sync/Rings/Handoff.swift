// SPDX-License-Identifier: Apache-2.0
//
// Takes a value that is not Sendable into a closure that is: `Thread` and `DispatchQueue` take `@Sendable` closures,
// which may run any number of times and so cannot own it.

/// A value on its way to another thread. Thread-safe.
///
/// ```swift
/// ring.split { producer, consumer in
///     let handoff = Handoff(consumer)
///     Thread.detachNewThread {
///         let consumer = handoff.take()
///         while let frame = try? consumer.pop() { show(frame) }
///     }
///     while let frame = capture(), producer.push(frame).isPushed {}
/// }
/// ```
///
/// The thread that takes it sees what the owner did before `init`.
public final class Handoff<Value: ~Copyable>: Sendable {
    private let value: PriorityInheritingMutex<Value?>

    /// Puts `value` in for good. Allocates.
    public init(_ value: consuming sending Value) {
        self.value = PriorityInheritingMutex(value)
    }

    /// Takes the value out. Thread-safe; blocks briefly.
    ///
    /// - Precondition: The first call. A second is reported and ends the process.
    public func take() -> sending Value {
        guard let value = takeIfPresent() else {
            misuse("Handoff<\(Value.self)>.take", nil, "the value has been taken already")
        }
        return value
    }

    /// Takes the value out, or answers `nil` if it has been taken. Thread-safe; blocks briefly.
    public func takeIfPresent() -> sending Value? {
        value.withLock { value in value.take() }
    }
}
