// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "beside-nio",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "interlock", path: "../../.."),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        // What that depends on: exact as well, so that a build of today is the build of tomorrow.
        .package(url: "https://github.com/apple/swift-atomics", exact: "1.3.0"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    ],
    targets: [
        .executableTarget(
            name: "Beside",
            dependencies: [
                .product(name: "Interlock", package: "interlock"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                // A dependency that no target uses is warned of.
                .product(name: "Atomics", package: "swift-atomics"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
