// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Somebody else's package: depends on the checkout by path, without any of the project's flags.
let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "interlock", path: "../../..")],
    targets: [
        .executableTarget(
            name: "Consumer",
            dependencies: [
                .product(name: "Interlock", package: "interlock"),
                .product(name: "CInterlock", package: "interlock"),
            ]
        )
    ]
)
