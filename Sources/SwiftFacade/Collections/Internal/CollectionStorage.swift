// SPDX-License-Identifier: Apache-2.0
//
// The guarded storage of SafeArray, SafeDictionary and SafeSet, entered in one of two ways.
//
//   by the element   lockForReading … unlockForReading, and the same for writing, around a few
//                    instructions of the toolkit's own. No foreign code runs in between.
//   by closure       read, write, beginWriting … endWriting, around code of the caller's: closures,
//                    and elements' own ==, hash(into:) and deinit. The access is entered in the thread's
//                    list.
//
// Writing and closures report a thread that is inside a closure of the same object already. A read of an element inside
// a read closure deadlocks only with a writer that queued in between: debug builds report it always, release builds
// when the lock's fast path refuses it.

import CInterlock

/// How a lock is held for reading.
// Around the C type, so that its users need not import C.
@frozen @usableFromInline
struct ReadSection {
    @usableFromInline let section: ilk__read_section

    @inlinable @inline(__always)
    init(_ section: ilk__read_section) {
        self.section = section
    }
}

/// Lock-guarded state of `Owner`, a type used in reports only.
@frozen @usableFromInline
struct CollectionStorage<Owner: AnyObject, State>: ~Copyable {
    @frozen @usableFromInline
    struct Guarded {
        // The entry of the thread that writes by closure. There is at most one, so it lives here, where its address is
        // stable across the `yield` of a coroutine accessor. It comes first, so that its address is that of the whole.
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
    }

    @inlinable
    deinit {
        ilk_rwlock_destroy(guarded.lock)
    }

    /// The state, for reading; valid as long as the lock is held.
    @inlinable
    var state: State {
        @inline(__always)
        _read { yield guarded.value.pointee.state }
    }

    /// The state, for changing in place; valid as long as the lock is held for writing. Put it into a local first, as
    /// ``GuardedStorage/value`` says.
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

    /// Takes the lock for reading; the result goes to ``unlockForReading(_:)``.
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

    // Not try_read_lock: it never allocates, so the thread would never get the reader slots by which reads scale.
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

    /// Reports a thread that is inside a closure of this object already. Costs one load where it is inside none.
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

    @inlinable
    func write<Result: ~Copyable, Failure: Error>(
        _ call: StaticString,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        beginWriting(call)
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

    // Both hold the lock for writing, so the entry is this thread's.

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

// Reached through the lock only, as GuardedStorage; readers share the state.
extension CollectionStorage: @unchecked Sendable where State: Sendable {}
