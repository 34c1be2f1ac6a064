// SPDX-License-Identifier: Apache-2.0
//
// The promises of tilt-shift, for every picture.

import Testing

@testable import Imaging

@Suite struct TiltShiftTests {
    /// Black and white columns, two pixels wide: as much detail in every row.
    private let stripes = {
        var image = Image(width: 120, height: 200, color: Color(red: 0, green: 0, blue: 0))
        for y in 0..<image.height {
            for x in 0..<image.width where x / 2 % 2 == 0 {
                image[x, y] = Color(red: 255, green: 255, blue: 255)
            }
        }
        return image
    }()

    private func contrast(_ image: Image, row: Int) -> Int {
        let reds = (20..<100).map { Int(image[$0, row].red) }
        return reds.max()! - reds.min()!
    }

    @Test func theBandStaysAsItWas() {
        let shifted = TiltShift(focus: 0.5, sharpHeight: 0.3, saturation: 1).applied(to: stripes)
        // A blurred row's band may reach a little into it: take the inner part.
        for row in 80..<120 {
            for x in 0..<stripes.width where shifted[x, row] != stripes[x, row] {
                Issue.record("row \(row), column \(x)")
                return
            }
        }
    }

    @Test func blurGrowsWithTheDistanceFromTheBand() {
        let shifted = TiltShift(focus: 0.5, sharpHeight: 0.2, radius: 0.02, saturation: 1).applied(
            to: stripes
        )
        let contrasts = stride(from: 100, through: 190, by: 10).map { contrast(shifted, row: $0) }
        // Where next to nothing is left, rounding may add a step.
        #expect(zip(contrasts, contrasts.dropFirst()).allSatisfy { $0 + 1 >= $1 }, "\(contrasts)")
        #expect(contrasts[0] == 255 && contrasts[contrasts.count - 1] < 10, "\(contrasts)")
    }

    @Test func noStepShowsWhereTheRadiusChanges() {
        // Rows of one brightness each would hide it.
        let shifted = TiltShift(focus: 0.5, sharpHeight: 0.1, radius: 0.03, saturation: 1).applied(
            to: stripes
        )
        let contrasts = (115..<200).map { contrast(shifted, row: $0) }
        let steps = zip(contrasts, contrasts.dropFirst()).map { abs($0 - $1) }
        #expect(steps.max()! < 40, "\(contrasts)")
    }

    @Test func onePlainColourStaysThatColour() {
        for value: UInt8 in [0, 1, 77, 128, 254, 255] {
            let plain = Image(
                width: 61,
                height: 47,
                color: Color(red: value, green: value, blue: 255 - value)
            )
            #expect(TiltShift(radius: 0.05, saturation: 1).applied(to: plain) == plain, "\(value)")
        }
    }

    @Test func blurMixesLightAndNotCodedValues() {
        // Half the light of white is coded as 188; the mean of the codes would be 128.
        let shifted = TiltShift(focus: 0, sharpHeight: 0, transition: 0.1, radius: 0.05, saturation: 1)
            .applied(to: stripes)
        #expect((180...196).contains(shifted[60, 150].red), "\(shifted[60, 150])")
    }

    @Test func saturationMovesColoursFromGreyAndLeavesGreyAlone() {
        let colour = Image(width: 9, height: 9, color: Color(red: 180, green: 100, blue: 100))
        let lifted = TiltShift(saturation: 1.3).applied(to: colour)[4, 4]
        #expect(lifted.red > 180 && lifted.green < 100)
        let grey = Image(width: 9, height: 9, color: Color(red: 90, green: 90, blue: 90))
        #expect(TiltShift(saturation: 1.3).applied(to: grey) == grey)
    }

    @Test(arguments: [(1, 1), (1, 50), (50, 1), (2, 3), (400, 2), (3, 400)])
    func anySizeComesOutAtThatSize(_ width: Int, _ height: Int) {
        let image = Image.gradient(width: width, height: height)
        let shifted = TiltShift(radius: 0.3).applied(to: image)
        #expect((shifted.width, shifted.height) == (width, height))
    }

    @Test func theFocusFindsTheDetail() {
        var image = Image(width: 100, height: 100, color: Color(red: 120, green: 120, blue: 120))
        for y in 55..<65 {
            for x in 0..<100 where x % 2 == 0 { image[x, y] = Color(red: 0, green: 0, blue: 0) }
        }
        let focus = TiltShift.mostDetailedHeight(of: image, band: 0.2)
        #expect((0.5...0.7).contains(focus), "\(focus)")
    }
}
