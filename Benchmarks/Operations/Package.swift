// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own: its peers are in the toolchain, so it needs no other package and builds without a network.

let package = Package(
    name: "interlock-operation-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "interlock", path: "../..")],
    targets: [
        .target(name: "CHeap"),
        .executableTarget(
            name: "bench_operations",
            dependencies: ["CHeap", .product(name: "Interlock", package: "interlock")],
            path: "Sources/BenchOperations"
        ),
    ],
    swiftLanguageModes: [.v6]
)
