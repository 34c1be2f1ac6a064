// SPDX-License-Identifier: Apache-2.0
//
// What SignalRelay.swift uses of Dispatch. Dispatch for Linux shows glibc's declarations beside its own: an import of
// it would make the names of Darwin ambiguous.

// The documentation is Apple's.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Dispatch

public typealias DispatchQueue = Dispatch.DispatchQueue
