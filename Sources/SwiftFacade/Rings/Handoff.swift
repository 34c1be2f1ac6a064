// SPDX-License-Identifier: Apache-2.0
//
// A value that is not Sendable, taken into a closure that is. `Thread` and `DispatchQueue` take
// `@Sendable` closures, which can run any number of times and so can never own what they are given; a
// task's closure runs once and can. Here a value is put down on one side and picked up once on the other.

/// A value on its way to another thread: put in by its owner, taken out once.
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
public final class Handoff<Value: ~Copyable>: Sendable {
    private let value: PriorityInheritingMutex<Value?>

    /// Puts `value` down, for good: it belongs to the thread that takes it.
    public init(_ value: consuming sending Value) {
        self.value = PriorityInheritingMutex(value)
    }

    /// Picks the value up. Thread-safe.
    ///
    /// - Precondition: It has not been taken before.
    public func take() -> sending Value {
        guard let value = takeIfPresent() else {
            misuse("Handoff<\(Value.self)>.take", nil, "the value has been taken already")
        }
        return value
    }

    /// Picks the value up, or answers `nil` if it has been taken before. Thread-safe.
    public func takeIfPresent() -> sending Value? {
        value.withLock { value in value.take() }
    }
}
