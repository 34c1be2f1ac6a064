// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own: an optimised program that a program could write, of the public interface alone.
let package = Package(
    name: "interlock-instructions",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "interlock", path: "../../..")],
    targets: [
        .executableTarget(name: "paths", dependencies: [.product(name: "Interlock", package: "interlock")])
    ],
    swiftLanguageModes: [.v6]
)
