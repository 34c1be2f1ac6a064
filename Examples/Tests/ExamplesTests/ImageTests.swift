// SPDX-License-Identifier: Apache-2.0
//
// Scaling down, drawing, and the contact sheet.

import Testing

@testable import Imaging

@Suite struct ImageTests {
    @Test(arguments: [(50, 30), (33, 7), (1, 1), (100, 59), (99, 60)])
    func scalingDownKeepsTheMean(_ width: Int, _ height: Int) {
        let image = Image.gradient(width: 100, height: 60)
        let scaled = image.scaledDown(width: width, height: height)
        func mean(_ image: Image) -> Double {
            Double(image.bytes.reduce(0) { $0 + Int($1) }) / Double(image.bytes.count)
        }
        #expect((scaled.width, scaled.height) == (width, height))
        #expect(abs(mean(scaled) - mean(image)) < 0.5)
    }

    @Test func fittingKeepsProportionsAndNeverEnlarges() {
        let image = Image.gradient(width: 100, height: 50)
        let fitted = image.fitted(width: 40, height: 40)
        #expect((fitted.width, fitted.height) == (40, 20))
        #expect(image.fitted(width: 500, height: 500) == image)
        #expect(Image.gradient(width: 1000, height: 1).fitted(width: 10, height: 10).height == 1)
    }

    @Test func drawingOverAnEdgeIsCutOff() {
        var image = Image(width: 10, height: 10, color: Color(red: 0, green: 0, blue: 0))
        let white = Color(red: 255, green: 255, blue: 255)
        let patch = Image(width: 6, height: 6, color: white)
        var whole = image
        whole.draw(patch, x: 2, y: 3)
        #expect((2..<8).allSatisfy { x in (3..<9).allSatisfy { y in whole[x, y] == white } })
        #expect(whole[1, 3] != white && whole[8, 3] != white && whole[2, 2] != white && whole[2, 9] != white)
        for (x, y) in [(-3, -3), (7, 7), (-3, 7), (20, 20), (-20, 0)] { image.draw(patch, x: x, y: y) }
        #expect(image[0, 0] == white && image[9, 9] == white && image[0, 9] == white)
        #expect(image[5, 5] != white && image[9, 0] != white)
    }

    @Test(arguments: [1, 2, 7, 40])
    func everyPictureIsOnTheSheet(_ count: Int) {
        // Each frame's colour is unique: it must be there, and as large as its neighbours.
        let colours = (0..<count).map { Color(red: UInt8($0), green: 0, blue: 200) }
        let sheet = ContactSheet(width: 900, frameHeight: 100).rendered(
            colours.map { Image(width: 150, height: 100, color: $0) }
        )
        var seen = Set<UInt8>()
        for y in stride(from: 0, to: sheet.height, by: 5) {
            for x in stride(from: 0, to: sheet.width, by: 5)
            where sheet[x, y].blue == 200 && sheet[x, y].green == 0 {
                seen.insert(sheet[x, y].red)
            }
        }
        #expect(seen.count == count)
    }

    @Test func strangeShapesFitTheSheet() {
        let shapes = [(1, 1), (3000, 2), (2, 3000), (640, 480)].map { Image.gradient(width: $0, height: $1) }
        let sheet = ContactSheet(width: 900, frameHeight: 100).rendered(shapes)
        #expect(sheet.width == 900 && sheet.height < 2000)
    }

    @Test func aSheetNeverOutgrowsWhatAJPEGHolds() {
        let tall = Image(width: 300, height: 1000, color: Color(red: 9, green: 9, blue: 9))
        let pictures = Array(repeating: tall, count: 80)
        let sheet = ContactSheet(width: 400, frameHeight: 1000).rendered(pictures)
        #expect((50_000...65_500).contains(sheet.height))
    }
}
