// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0
//
// Interlock's contention figures for swift-metrics: a package of its own, so that Interlock depends on nothing.

import PackageDescription

// The project's own builds take one version, so that a build of today is the build of tomorrow; a user's choose.
let isOwnBuild = Context.environment["INTERLOCK_STRICT"] != nil
let metrics: Range<Version> = isOwnBuild ? "2.13.0"..<"2.13.1" : "2.5.0"..<"3.0.0"

let package = Package(
    name: "interlock-metrics",
    platforms: [.macOS(.v15)],
    products: [.library(name: "InterlockMetrics", targets: ["InterlockMetrics"])],
    dependencies: [
        .package(name: "interlock", path: "../.."),
        .package(url: "https://github.com/apple/swift-metrics", metrics),
    ],
    targets: [
        .target(
            name: "InterlockMetrics",
            dependencies: [
                .product(name: "Interlock", package: "interlock"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]
        ),
        .testTarget(
            name: "InterlockMetricsTests",
            dependencies: [
                "InterlockMetrics",
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
