// SPDX-License-Identifier: Apache-2.0
//
// Frees a chain of operations link by link. An operation that never ran holds its upstream one, by its edge and by the
// closure that takes its output; some thousands freed in nested calls would overflow the stack. So an operation that
// ends hands what it holds to a loop of its thread.

enum ChainRelease {
    private static let loop = ThreadLoop<OperationRecord.Holdings> { held in withExtendedLifetime(held) {} }

    /// Releases `held`, and what its end releases, without nesting.
    static func free(_ held: consuming OperationRecord.Holdings) { loop.run(held) }
}
