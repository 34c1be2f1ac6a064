// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The root package depends on the toolchain and libbsd only. What needs another package (benchmarks, the bridge to
// swift-metrics, the examples) is a nested package.

// Warnings are errors in the project's own builds only: scripts/ sets the variable, a consumer does not. An
// unconditional flag of this kind would keep other packages from depending on this one.
let strict = Context.environment["INTERLOCK_STRICT"] != nil
let strictC: [CSetting] =
    strict
    ? [
        .unsafeFlags([
            "-Wall", "-Wextra", "-Wpedantic", "-Wno-gnu-statement-expression", "-Wfunction-effects",
            "-Werror",
        ])
    ]
    : []
let strictSwift: [SwiftSetting] = strict ? [.unsafeFlags(["-warnings-as-errors"])] : []

/// A module of the facade: ARCHITECTURE.md says what each holds, and who may import whom.
func facade(_ name: String, in folder: String, uses modules: [Target.Dependency]) -> Target {
    .target(
        name: name,
        dependencies: modules,
        path: "Sources/SwiftFacade/\(folder)",
        swiftSettings: strictSwift
    )
}

let package = Package(
    name: "interlock",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Interlock", targets: ["Interlock"]),
        .library(name: "InterlockSync", targets: ["InterlockSync"]),
        .library(name: "InterlockPool", targets: ["InterlockPool"]),
        .library(name: "InterlockOperations", targets: ["InterlockOperations"]),
        .library(name: "CInterlock", targets: ["CInterlock"]),
    ],
    targets: [
        .target(
            name: "CInterlock",
            path: "Sources/CCore",
            publicHeadersPath: "include",
            cSettings: [.headerSearchPath(".")] + strictC,
            linkerSettings: [.linkedLibrary("bsd", .when(platforms: [.linux]))]
        ),
        facade("InterlockSync", in: "Sync", uses: ["CInterlock"]),
        facade("InterlockPool", in: "Pool", uses: ["CInterlock", "InterlockSync"]),
        facade(
            "InterlockOperations",
            in: "Operations",
            uses: ["CInterlock", "InterlockSync", "InterlockPool"]
        ),
        facade(
            "Interlock",
            in: "Interlock",
            uses: ["InterlockSync", "InterlockPool", "InterlockOperations"]
        ),
        .target(
            name: "PureSwift",
            path: "Tests/PureSwift",
            swiftSettings: strictSwift
        ),
        .target(name: "CountingAllocator", path: "Tests/CountingAllocator", cSettings: strictC),
        .testTarget(
            name: "InterlockTests",
            dependencies: [
                "Interlock", "InterlockSync", "InterlockPool", "InterlockOperations", "CInterlock",
            ],
            path: "Tests/SwiftFacadeTests",
            exclude: ["Conformance", "thread-sanitizer.supp"],
            swiftSettings: strictSwift
        ),
        // One suite over the C-backed and the pure-Swift versions, and the comparison of their speed.
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["Interlock", "PureSwift", "CountingAllocator"],
            path: "Tests/SwiftFacadeTests/Conformance",
            swiftSettings: strictSwift
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11,
    cxxLanguageStandard: .cxx17
)

// The comparison needs a release build, in which the other tests, which are @testable, do not
// build: INTERLOCK_COMPARE=1 swift test -c release --filter ThroughputComparison
if Context.environment["INTERLOCK_COMPARE"] != nil {
    package.targets.removeAll { $0.name == "InterlockTests" }
}
