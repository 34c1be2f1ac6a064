// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own: its peers are in the toolchain and in the distribution, so it needs no other package and builds
// without a network.

// oneTBB, where scripts/bench has found it. An environment variable, because SwiftPM keeps a manifest's result for as
// long as the manifest and the environment stay the same.
let hasTBB = Context.environment["INTERLOCK_BENCH_TBB"] != nil

let package = Package(
    name: "interlock-operation-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "interlock", path: "../../..")],
    targets: [
        .target(name: "CHeap"),
        .target(
            name: "CFlowGraph",
            dependencies: ["CHeap"],
            cxxSettings: hasTBB ? [.define("INTERLOCK_BENCH_TBB")] : [],
            linkerSettings: hasTBB ? [.linkedLibrary("tbb")] : []
        ),
        .executableTarget(
            name: "bench_operations",
            dependencies: ["CFlowGraph", "CHeap", .product(name: "Interlock", package: "interlock")],
            path: "Sources/BenchOperations"
        ),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
