// SPDX-License-Identifier: Apache-2.0
//
// What the calling thread tells diagnosis of waits and work that the C core does not see. While diagnosis is off each
// costs a load.

import CInterlock

package enum ThreadDiagnosis {
    @inline(__always)
    package static var isOn: Bool { ilk__facade_diagnoses() != 0 }

    /// Runs `wait`, in which the thread waits for `object`, which `label` describes.
    @inline(__always)
    package static func waiting<Result>(
        for object: AnyObject,
        until deadline: UInt64,
        _ label: @autoclosure () -> String,
        _ wait: () -> Result
    ) -> Result {
        guard isOn else { return wait() }
        var watch = ilk__facade_watch()
        ilk__facade_wait_begin(&watch, address(of: object), withoutZeros(label()), deadline)
        defer { ilk__facade_wait_end(&watch) }
        return wait()
    }

    /// Runs `work`, which is `object`'s: a thread that waits for that waits for this one.
    @inline(__always)
    package static func working<Result>(
        on object: AnyObject,
        _ label: @autoclosure () -> String,
        _ work: () -> Result
    ) -> Result {
        guard isOn else { return work() }
        ilk__facade_work_begin(address(of: object), withoutZeros(label()))
        defer { ilk__facade_work_end() }
        return work()
    }

    private static func address(of object: AnyObject) -> UnsafeRawPointer {
        UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }
}
