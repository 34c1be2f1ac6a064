// SPDX-License-Identifier: Apache-2.0
//
// The guarded storage of SafeArray, SafeDictionary and SafeSet, entered in one of two ways.
//
//   by the element   lockForReading … unlockForReading, the same for writing, and whileReading, around a few
//                    instructions of the toolkit's own, without foreign code.
//   by closure       read, write, beginWriting … endWriting, around foreign code: closures, and elements' own
//                    ==, hash(into:) and deinit. The access is entered in the thread's list.
//
// Writing and closures report a thread that is inside a closure of the same object. A read of an element inside a read
// closure deadlocks only with a writer queued in between: debug builds report it, release builds where the read fast
// path refuses it.

import CInterlock

/// How a lock is held for reading.
// Its users need not import C.
@frozen @usableFromInline
struct ReadSection {
    @usableFromInline let section: ilk__read_section

    @inlinable @inline(__always)
    init(_ section: ilk__read_section) {
        self.section = section
    }
}

/// Lock-guarded state of `Owner`, which is for reports.
@frozen @usableFromInline
struct CollectionStorage<Owner: AnyObject, State>: ~Copyable {
    @frozen @usableFromInline
    struct Guarded {
        // The entry of the thread that writes by closure, of which there is one: here its address is stable across a
        // `yield`. First, so that its address is that of the whole.
        @usableFromInline var writer: ThreadAccess
        @usableFromInline var state: State

        @inlinable
        init(state: State, writer: ThreadAccess) {
            self.state = state
            self.writer = writer
        }
    }

    @usableFromInline
    let guarded: GuardedStorage<ilk_rwlock, Guarded>

    @usableFromInline
    init(_ state: State) {
        guarded = GuardedStorage(
            Guarded(state: state, writer: ThreadAccess(lock: UnsafeRawPointer(bitPattern: 1)!, call: "none"))
        )
        if ilk__facade_diagnoses() != 0 { ilk_rwlock_init(guarded.lock) }
    }

    @inlinable
    deinit {
        ilk_rwlock_destroy(guarded.lock)
    }

    /// The state, for reading, with the lock held.
    @inlinable
    var state: State {
        @inline(__always)
        _read { yield guarded.value.pointee.state }
    }

    /// The state, for changing in place, with the lock held for writing. Put it into a local first:
    /// ``GuardedStorage/value``.
    @inlinable @inline(__always)
    var location: UnsafeMutablePointer<Guarded> {
        guarded.value
    }

    /// The object's address in reports.
    @inlinable
    var identity: UnsafeRawPointer {
        UnsafeRawPointer(guarded.base)
    }

    // MARK: by the element

    /// The result goes to ``unlockForReading(_:)``.
    @inlinable @inline(__always)
    func lockForReading(_ call: StaticString) -> ReadSection {
        var section = ilk__read_section()
        if !ilk__read_section_try_begin(guarded.lock, &section) {
            section = waitForReading(call).section
        }
        assert(isOutside(call))
        return ReadSection(section)
    }

    @inlinable @inline(__always)
    func unlockForReading(_ section: ReadSection) {
        ilk__read_section_end(guarded.lock, section.section)
    }

    /// Runs `body`, which reads ``state`` by one expression: more is not inlined.
    // Without a parameter: the state as one would be copied.
    @inlinable @inline(__always)
    func whileReading<Result>(_ call: StaticString, _ body: () -> Result) -> Result {
        let section = lockForReading(call)
        defer { unlockForReading(section) }
        return body()
    }

    // Not try_read_lock, which never allocates: the thread would never get the reader slots by which reads scale.
    @inline(never) @usableFromInline
    func waitForReading(_ call: StaticString) -> ReadSection {
        requireOutside(call)
        return ReadSection(ilk__read_section_begin(guarded.lock))
    }

    @usableFromInline
    func isOutside(_ call: StaticString) -> Bool {
        requireOutside(call)
        return true
    }

    @inlinable @inline(__always)
    func lockForWriting(_ call: StaticString) {
        requireOutside(call)
        ilk_rwlock_write_lock(guarded.lock)
    }

    @inlinable @inline(__always)
    func unlockForWriting() {
        ilk_rwlock_write_unlock(guarded.lock)
    }

    /// Reports a thread inside a closure of this object; one load where it is inside none.
    @inlinable @inline(__always)
    func requireOutside(_ call: StaticString) {
        if ThreadAccess.innermost != nil {
            searchForReentry(call)
        }
    }

    @inline(never) @usableFromInline
    func searchForReentry(_ call: StaticString) {
        ThreadAccess.requireOutside(identity, call: call, type: Owner.self)
    }

    // MARK: by closure

    @inlinable
    func read<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (borrowing State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var access = ThreadAccess(lock: identity, call: call)
        return try withUnsafeMutablePointer(to: &access) { (access) throws(Failure) -> Result in
            ThreadAccess.begin(access, type: Owner.self)
            let section = ilk__read_section_begin(guarded.lock)
            defer {
                ilk__read_section_end(guarded.lock, section)
                ThreadAccess.end(access, type: Owner.self)
            }
            return try body(guarded.value.pointee.state)
        }
    }

    /// - Parameter isBegun: Whether the caller has begun writing.
    @inlinable
    func write<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        isBegun: Bool = false,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if !isBegun { beginWriting(call) }
        defer { endWriting() }
        let location = location
        return try body(&location.pointee.state)
    }

    @inlinable
    func beginWriting(_ call: StaticString) {
        lockForWriting(call)
        enterWriter(call)
    }

    @inlinable
    func endWriting() {
        leaveWriter()
        unlockForWriting()
    }

    // With the lock held for writing, the entry is this thread's.

    @inlinable
    func enterWriter(_ call: StaticString) {
        writer.initialize(to: ThreadAccess(lock: identity, call: call))
        ThreadAccess.begin(writer, type: Owner.self)
    }

    @inlinable
    func leaveWriter() {
        ThreadAccess.end(writer, type: Owner.self)
    }

    @inlinable
    var writer: UnsafeMutablePointer<ThreadAccess> {
        UnsafeMutableRawPointer(guarded.value).assumingMemoryBound(to: ThreadAccess.self)
    }
}

// The lock guards the state. Readers share it, so it must be Sendable.
extension CollectionStorage: @unchecked Sendable where State: Sendable {}
