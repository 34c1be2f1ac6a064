// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0
//
// Interlock's contention figures for swift-metrics: a package of its own, so that Interlock depends on nothing.

import PackageDescription

let package = Package(
    name: "interlock-metrics",
    platforms: [.macOS(.v15)],
    products: [.library(name: "InterlockMetrics", targets: ["InterlockMetrics"])],
    dependencies: [
        .package(name: "interlock", path: "../.."),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
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
