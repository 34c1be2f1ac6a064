// SPDX-License-Identifier: Apache-2.0
//
// What OwnThread.swift uses of Foundation, and Darwin, which Foundation shows there. Foundation for Linux shows glibc's
// declarations: an import of it would make the names of Darwin ambiguous.

// The documentation is Apple's.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported import Darwin
import Foundation

public typealias QualityOfService = Foundation.QualityOfService
public typealias Thread = Foundation.Thread
