// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A user's package in Swift 6 mode: depends on the checkout by path, without the project's flags. Its own warnings are
// errors.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    products: [.library(name: "Plugin", type: .dynamic, targets: ["Plugin"])],
    dependencies: [.package(name: "interlock", path: "../../..")],
    targets: [
        .executableTarget(
            name: "Consumer",
            dependencies: [
                .product(name: "Interlock", package: "interlock"),
                .product(name: "CInterlock", package: "interlock"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "OnlySync",
            dependencies: [.product(name: "InterlockSync", package: "interlock")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "OnlyPool",
            dependencies: [.product(name: "InterlockPool", package: "interlock")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "Diagnosed",
            dependencies: [.product(name: "Interlock", package: "interlock")],
            swiftSettings: strict
        ),
        // A program and a library that it opens, each with its copy of the C core.
        .executableTarget(
            name: "Host",
            dependencies: [.product(name: "CInterlock", package: "interlock")],
            swiftSettings: strict
        ),
        .target(
            name: "Plugin",
            dependencies: [.product(name: "CInterlock", package: "interlock")],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
