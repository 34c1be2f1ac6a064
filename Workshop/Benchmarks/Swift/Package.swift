// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own: packages that depend on Interlock get none of its peers.

let package = Package(
    name: "interlock-swift-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "interlock", path: "../../.."),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
        // What those depend on: exact as well, so that figures of today and tomorrow compare.
        .package(url: "https://github.com/apple/swift-atomics", exact: "1.3.0"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    ],
    targets: [
        // The rings' loops from C, and system calls that Swift does not declare.
        .target(name: "CBench", dependencies: [.product(name: "CInterlock", package: "interlock")]),
        // A symbolic link to Tests/PureSwift: a target's folder lies in its package.
        .target(name: "PureSwift"),
        .executableTarget(
            name: "bench_swift",
            dependencies: [
                "CBench", "PureSwift",
                .product(name: "Interlock", package: "interlock"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ],
            path: "Sources/Bench"
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
