// SPDX-License-Identifier: Apache-2.0
//
// A value that is not Sendable, taken into a closure that is. `Thread` and `DispatchQueue` take `@Sendable` closures,
// which may run any number of times and so cannot own what they are given; a task's closure runs once and can. A
// handoff is filled on one thread and emptied once, on another.

/// A value on its way to another thread: put in by its owner, taken out once. Thread-safe.
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
/// What the owner did before it made the handoff is visible to the thread that takes the value.
public final class Handoff<Value: ~Copyable>: Sendable {
    private let value: PriorityInheritingMutex<Value?>

    /// Puts `value` in for good: it belongs to the thread that takes it. Allocates.
    public init(_ value: consuming sending Value) {
        self.value = PriorityInheritingMutex(value)
    }

    /// Takes the value out. Thread-safe; blocks briefly.
    ///
    /// - Precondition: It has not been taken before. A second call is reported and ends the process.
    public func take() -> sending Value {
        guard let value = takeIfPresent() else {
            misuse("Handoff<\(Value.self)>.take", nil, "the value has been taken already")
        }
        return value
    }

    /// Takes the value out, or answers `nil` if it has been taken before. Thread-safe; blocks briefly.
    public func takeIfPresent() -> sending Value? {
        value.withLock { value in value.take() }
    }
}
