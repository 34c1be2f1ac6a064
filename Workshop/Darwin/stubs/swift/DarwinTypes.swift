// SPDX-License-Identifier: Apache-2.0
//
// The structures of Darwin that have the names of functions, in a module of their own: Swift does not let one declare
// both. Darwin.swift shows them.

// The documentation is Apple's.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public typealias mode_t = UInt16
public typealias sigset_t = UInt32

public struct stat {
    public var st_mode: mode_t
    public init() { fatalError() }
}

public struct sigaction {
    public struct Handler {
        public var __sa_handler: (@convention(c) (Int32) -> Void)!
    }

    public var __sigaction_u: Handler
    public var sa_mask: sigset_t
    public var sa_flags: Int32
    public init() { fatalError() }
}
