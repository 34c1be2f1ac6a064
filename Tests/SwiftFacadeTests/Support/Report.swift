// SPDX-License-Identifier: Apache-2.0
//
// What a process wrote to standard error before it ended, for tests of misuse.

import Testing

extension ExitTest.Result {
    /// The last thing written to standard error.
    var report: String {
        String(decoding: standardErrorContent, as: UTF8.self)
    }
}
