// SPDX-License-Identifier: Apache-2.0
//
// Which files of a folder, without its subfolders, are pictures, and what the others are.

import ImageCodecs

/// A picture to be worked on: its place, and its result's name.
package struct PhotoFile: Sendable, Equatable {
    /// Printable, and unique in the folder.
    package let name: String
    package let path: FilePath
    /// Unique in the folder.
    package let outputName: String
    /// Its place among the folder's pictures, from 0.
    package let position: Int
}

extension PhotoFile {
    /// The pictures in their order, with names for their results.
    package static func numbered(_ pictures: [(name: String, path: FilePath)]) -> [PhotoFile] {
        let outputNames = PhotoFolder.outputNames(for: pictures.map(\.name))
        return pictures.indices.map { index in
            PhotoFile(
                name: pictures[index].name,
                path: pictures[index].path,
                outputName: outputNames[index],
                position: index
            )
        }
    }

    /// The file's size in bytes. Blocks.
    package var size: Int? { try? Files.size(of: path) }

    /// The file's bytes. Blocks.
    package var contents: [UInt8] {
        get throws(FileError) { try Files.contents(of: path, limit: .max) }
    }
}

/// A file that gave no picture, and why.
package struct Rejection: Error, Sendable, Equatable, CustomStringConvertible {
    package let name: String
    package let reason: String

    package init(name: String, reason: String) {
        self.name = name
        self.reason = reason
    }

    package var description: String { "\(name.printable): \(reason.printable)" }
}

/// A folder's pictures, ordered by name, and its other contents.
package struct PhotoFolder: Sendable {
    package let path: String
    package let photos: [PhotoFile]
    package let others: [Rejection]

    /// Why there is no picture to work on.
    package enum Unusable: Error, Equatable, CustomStringConvertible {
        case missing(String, reason: String)
        case notAFolder(String)
        case empty(String)
        case noPictures(String, others: [Rejection])

        package var description: String {
            switch self {
            case .missing(let path, let reason):
                "cannot open the folder '\(path.printable)': \(reason)"
                    + (path.unicodeScalars.contains("\u{FFFD}")
                        ? "; of a folder whose name is not UTF-8, give '.' from inside it" : "")
            case .notAFolder(let path):
                "'\(path.printable)' is not a folder; give the folder that the photos are in"
            case .empty(let path): "the folder '\(path.printable)' is empty"
            case .noPictures(let path, let others):
                "no JPEG or PNG picture in '\(path.printable)':"
                    + others.prefix(10).map { "\n  \($0)" }.joined()
                    + (others.count > 10 ? "\n  and \(others.count - 10) more" : "")
            }
        }
    }

    /// Reads the first bytes of every file in a folder; names and extensions decide nothing. Names that begin with a
    /// dot are left out. Links are followed. No file is opened that could block.
    package init(path: String) throws(Unusable) {
        self.path = path
        let names: [[UInt8]]
        do {
            guard try Files.kind(of: FilePath(path)) == .folder else { throw Unusable.notAFolder(path) }
            names = try Files.names(in: path).sorted { $0.lexicographicallyPrecedes($1) }
        } catch let error as FileError {
            throw .missing(path, reason: error.reason)
        } catch {
            throw .notAFolder(path)
        }
        guard !names.isEmpty else { throw .empty(path) }

        var pictures: [(name: String, path: FilePath)] = []
        var others: [Rejection] = []
        var taken: Set<String> = []
        for bytes in names {
            let file = FilePath(bytes, in: path)
            // Names of other bytes may look, and compare, the same.
            var name = String.printable(bytes)
            while !taken.insert(name).inserted { name += "'" }
            if let reason = Self.whyNotAPicture(file) {
                others.append(Rejection(name: name, reason: reason))
            } else {
                pictures.append((name, file))
            }
        }
        guard !pictures.isEmpty else { throw .noPictures(path, others: others) }
        photos = PhotoFile.numbered(pictures.sorted { $0.name < $1.name })
        self.others = others.sorted { $0.name < $1.name }
    }

    private static func whyNotAPicture(_ path: FilePath) -> String? {
        do throws(FileError) {
            switch try Files.kind(of: path) {
            case .folder: return "a folder; only the files directly in the one given are taken"
            case .other: return "not a regular file"
            case .regular: break
            }
            let firstBytes = try Files.contents(of: path, limit: 64)
            guard PictureFormat(firstBytes: firstBytes) == nil else { return nil }
            return CodecError.notAPicture(PictureFormat.guess(firstBytes: firstBytes)).description
        } catch {
            return error.reason
        }
    }

    /// A stranger's name as one for a file in a folder: the last part of a path, without control characters. A slash
    /// with an accent, which is another Character, separates the parts of a path all the same.
    static func fileName(_ name: String) -> String {
        let scalars = name.unicodeScalars.split(separator: "/").last.map(Array.init) ?? []
        let plain = String(scalars.map { $0.properties.generalCategory == .control ? "_" : Character($0) })
        return ["", ".", ".."].contains(plain) ? "picture" : plain
    }

    /// In bytes.
    static let longestName = 255

    /// A name for each result: the picture's own as a file's, with the extension of a JPEG. Where two results would
    /// have one name, also on a file system that ignores case, they keep the picture's whole name before the extension;
    /// if that is taken, with a number. No longer than a file system takes: printable names may be four times as long
    /// as the files'.
    static func outputNames(for names: [String]) -> [String] {
        func stem(_ name: String) -> String {
            guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return name }
            return String(name[..<dot])
        }
        let names = names.map(fileName)
        let stems = Dictionary(grouping: names, by: { stem($0).lowercased() })
        var taken: Set<String> = []
        var tried: [String: Int] = [:]
        return names.map { name in
            let isAlone = stems[stem(name).lowercased()]?.count == 1
            let wanted = isAlone ? stem(name) : name
            while true {
                let number = tried[wanted.lowercased(), default: 0] + 1
                tried[wanted.lowercased()] = number
                let end = number == 1 ? ".jpg" : " \(number).jpg"
                var begin = wanted
                while begin.utf8.count + end.utf8.count > longestName { begin.removeLast() }
                let candidate = begin + end
                if taken.insert(candidate.lowercased()).inserted { return candidate }
            }
        }
    }
}
