// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own: a package that depends on Interlock gets neither the examples nor the argument parser.
// `Demo` is the program; the rest are libraries, which the tests import.

// Warnings are errors in the project's own builds only, as in the root package.
let strict = Context.environment["INTERLOCK_STRICT"] != nil
let strictC: [CSetting] =
    strict ? [.unsafeFlags(["-Wall", "-Wextra", "-Wpedantic", "-Wfunction-effects", "-Werror"])] : []
let strictSwift: [SwiftSetting] = strict ? [.unsafeFlags(["-warnings-as-errors"])] : []

// The loops over pixels are optimised in debug builds, too: the tests go through hundreds of millions of pixels.
let optimised: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

// Faces are found with OpenCV where this is set. Not by a look at its headers: the package manager keeps what a
// manifest once said.
let findsFaces = Context.environment["INTERLOCK_FACES"] != nil
let faces: [Target] =
    findsFaces
    ? [
        .target(
            name: "CFaces",
            // OpenCV's own headers have warnings.
            cxxSettings: [.unsafeFlags(["-isystem", "/usr/include/opencv4"])]
                + (strict ? [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])] : []),
            linkerSettings: [
                .linkedLibrary("opencv_objdetect"), .linkedLibrary("opencv_imgproc"),
                .linkedLibrary("opencv_core"),
            ]
        )
    ] : []

let interlock: Target.Dependency = .product(name: "Interlock", package: "interlock")
let cInterlock: Target.Dependency = .product(name: "CInterlock", package: "interlock")

let package = Package(
    name: "interlock-examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "interlock", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    ],
    targets: [
        .systemLibrary(name: "CLibJPEG", providers: [.apt(["libjpeg-dev"]), .brew(["jpeg-turbo"])]),
        .systemLibrary(name: "CLibPNG", providers: [.apt(["libpng-dev"]), .brew(["libpng"])]),
        .target(
            name: "CImageCodecs",
            dependencies: ["CLibJPEG", "CLibPNG"],
            cSettings: strictC,
            linkerSettings: [.linkedLibrary("jpeg"), .linkedLibrary("png16")]
        ),
        .target(name: "Imaging", swiftSettings: strictSwift + optimised),
        .target(
            name: "GooglyEyes",
            dependencies: ["Imaging", interlock] + (findsFaces ? ["CFaces"] : []),
            swiftSettings: strictSwift + optimised
        ),
        .target(name: "ImageCodecs", dependencies: ["CImageCodecs", "Imaging"], swiftSettings: strictSwift),
        .target(name: "Timeline", swiftSettings: strictSwift),
        .target(
            name: "PhotoPipeline",
            dependencies: ["GooglyEyes", "ImageCodecs", "Imaging", "Timeline", interlock],
            swiftSettings: strictSwift
        ),
        .target(
            name: "PhotoServer",
            dependencies: [
                interlock, .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            swiftSettings: strictSwift
        ),
        .target(
            name: "PhotoDownloads",
            dependencies: ["PhotoPipeline", "PhotoServer", interlock],
            swiftSettings: strictSwift
        ),
        .executableTarget(
            name: "GooglyPuff",
            dependencies: ["GooglyEyes", "ImageCodecs", "PhotoPipeline", interlock],
            exclude: ["README.md"],
            swiftSettings: strictSwift
        ),
        .executableTarget(
            name: "Downloads",
            dependencies: [
                "PhotoDownloads", "PhotoPipeline", "PhotoServer", "Timeline", interlock,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["README.md"],
            swiftSettings: strictSwift
        ),
        .target(name: "SafeAgainstUnsafe", dependencies: [interlock], swiftSettings: strictSwift),
        .target(name: "SalesData", dependencies: [interlock], swiftSettings: strictSwift),
        .executableTarget(
            name: "Sales",
            dependencies: ["SalesData", "Timeline", interlock],
            exclude: ["README.md"],
            swiftSettings: strictSwift
        ),
        .executableTarget(name: "Shop", dependencies: [interlock], swiftSettings: strictSwift),
        .target(name: "CCapture", dependencies: [cInterlock], cSettings: strictC),
        .target(
            name: "Capture",
            dependencies: ["CCapture", cInterlock, interlock],
            swiftSettings: strictSwift
        ),
        .target(name: "Report", dependencies: ["Timeline"], swiftSettings: strictSwift),
        .executableTarget(
            name: "Demo",
            dependencies: [
                "Capture", "ImageCodecs", "PhotoDownloads", "PhotoPipeline", "PhotoServer", "Report",
                "SafeAgainstUnsafe", "Timeline", interlock,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["README.md"],
            swiftSettings: strictSwift
        ),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "CCapture", "Capture", "GooglyEyes", "ImageCodecs", "Imaging", "PhotoDownloads",
                "PhotoPipeline",
                "PhotoServer",
                "Report", "SafeAgainstUnsafe", "SalesData", "Timeline",
                interlock, .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            swiftSettings: strictSwift
        ),
    ] + faces,
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11,
    cxxLanguageStandard: .cxx17
)
