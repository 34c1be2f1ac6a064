// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A user's package: depends on the checkout by path, without the project's flags.
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
            ]
        ),
        // A program and a library that it opens, each with its copy of the C core.
        .executableTarget(
            name: "Host",
            dependencies: [.product(name: "CInterlock", package: "interlock")]
        ),
        .target(
            name: "Plugin",
            dependencies: [.product(name: "CInterlock", package: "interlock")]
        ),
    ]
)
