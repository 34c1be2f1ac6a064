// SPDX-License-Identifier: Apache-2.0
//
// The one folder for results. Nothing is written outside it: its parts are no links, and a result's name is one of a
// file in it (PhotoFolder.fileName).

/// The folder for the results, and its parts, which `init` makes.
package struct OutputFolder: Sendable {
    package let path: String

    package var pictures: String { "\(path)/pictures" }
    package var contactSheet: String { "\(path)/contact-sheet.jpg" }
    package var page: String { "\(path)/index.html" }

    /// Makes the folder unless it is there.
    ///
    /// - Throws: When it cannot be made, or is the photos' folder: results could replace them.
    package init(path: String, photos: PhotoFolder) throws(FileError) {
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        try Files.makeFolder(path)
        guard try Files.identity(of: path) != Files.identity(of: photos.path) else {
            throw FileError(path, reason: "the photos are in here; choose another folder for the output")
        }
        try self.init(making: path)
    }

    private init(making path: String) throws(FileError) {
        self.path = path
        try Files.makeOwnFolder(pictures)
    }

    /// A folder inside this one for results to compare.
    package func comparison() throws(FileError) -> OutputFolder {
        let path = "\(path)/comparison"
        try Files.makeOwnFolder(path)
        return try OutputFolder(making: path)
    }

    /// The names of the results, with the contact sheet, that differ in another folder.
    package func differences(from other: OutputFolder, of photos: [Photo]) throws(FileError) -> [String] {
        var different: [String] = []
        let pairs =
            photos.map { ($0.file.outputName, "\(pictures)/", "\(other.pictures)/") }
            + [("contact-sheet.jpg", "\(path)/", "\(other.path)/")]
        for (name, here, there) in pairs {
            let mine = try Files.contents(of: FilePath(here + name), limit: .max)
            let others = try? Files.contents(of: FilePath(there + name), limit: .max)
            if mine != others { different.append(name) }
        }
        return different
    }

    /// The contact sheet as it was written.
    package func contactSheetBytes() throws(FileError) -> [UInt8] {
        try Files.contents(of: FilePath(contactSheet), limit: .max)
    }

    /// Writes the page.
    package func write(page html: String) throws(FileError) {
        try Files.replace(page, with: Array(html.utf8))
    }

    /// Removes these files' results, the contact sheet and the folders; leaves other files.
    package func remove(resultsOf photos: [Photo]) throws(FileError) {
        for photo in photos { try Files.remove("\(pictures)/\(photo.file.outputName)") }
        try Files.remove(contactSheet)
        try Files.removeFolder(pictures)
        try Files.removeFolder(path)
    }
}
