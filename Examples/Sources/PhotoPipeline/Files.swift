// SPDX-License-Identifier: Apache-2.0
//
// Whole files, with errors that name the file and the system's reason.

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package struct FileError: Error, Equatable, CustomStringConvertible {
    package let path: String
    package let reason: String

    package var description: String { "\(path.printable): \(reason)" }

    init(_ path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    init(_ path: String, errno code: Int32 = errno) {
        self.init(path, reason: String(cString: strerror(code)))
    }
}

/// A file's path as the system has it: bytes, which need not be UTF-8.
package struct FilePath: Sendable, Equatable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// Ends with a zero byte.
    private let bytes: [CChar]

    package init(_ path: String) { bytes = Array(path.utf8CString) }
    package init(stringLiteral path: String) { self.init(path) }

    /// A file in a folder.
    init(_ name: [UInt8], in folder: String) {
        let slash = folder.hasSuffix("/") ? "" : "/"
        bytes = "\(folder)\(slash)".utf8CString.dropLast() + (name + [0]).map { CChar(bitPattern: $0) }
    }

    package var description: String {
        String.printable(bytes.dropLast().map { UInt8(bitPattern: $0) })
    }

    func withCString<Output>(_ body: (UnsafePointer<CChar>) -> Output) -> Output {
        bytes.withUnsafeBufferPointer { body($0.baseAddress!) }
    }
}

extension String {
    /// A stranger's text for one line of a terminal: what steers it, ends the line or turns the direction of writing is
    /// spelled out, `\x1B`, and so are bytes that are not UTF-8.
    package var printable: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control where scalar.value < 256: text += Self.spelled(UInt8(scalar.value))
            case .control, .lineSeparator, .paragraphSeparator:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            case .format where scalar != "\u{200C}" && scalar != "\u{200D}":
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    static func printable(_ bytes: [UInt8]) -> String {
        var text = ""
        var rest = bytes[...]
        while let first = rest.first {
            let valid = (1...4).lazy.compactMap { count in
                count <= rest.count ? String(validating: rest.prefix(count), as: UTF8.self) : nil
            }.first
            text += valid?.printable ?? spelled(first)
            rest = rest.dropFirst(valid?.utf8.count ?? 1)
        }
        return text
    }

    private static func spelled(_ byte: UInt8) -> String {
        "\\x\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))"
    }
}

enum Files {
    enum Kind { case regular, folder, other }

    static func kind(of path: FilePath) throws(FileError) -> Kind {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { throw FileError("\(path)") }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .regular
        case S_IFDIR: return .folder
        default: return .other
        }
    }

    static func size(of path: FilePath) throws(FileError) -> Int {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { throw FileError("\(path)") }
        return Int(status.st_size)
    }

    /// Equal for two paths to the same folder or file.
    static func identity(of path: String) throws(FileError) -> some Hashable {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileError(path) }
        return [UInt64(status.st_dev), UInt64(status.st_ino)]
    }

    /// The names in a folder, unordered, without those that begin with a dot.
    static func names(in folder: String) throws(FileError) -> [[UInt8]] {
        guard let stream = opendir(folder) else { throw FileError(folder) }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) {
                    (0..<strlen($0)).map { [name = $0] in UInt8(bitPattern: name[$0]) }
                }
            }
            if name.first != UInt8(ascii: ".") { names.append(name) }
        }
        return names
    }

    /// The first `limit` bytes of a file, or all. Blocks.
    static func contents(of path: FilePath, limit: Int) throws(FileError) -> [UInt8] {
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw FileError("\(path)") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError("\(path)") }

        // One byte more than the size, so that the read finds the end even if the file grows.
        var bytes = [UInt8](repeating: 0, count: min(limit, Int(status.st_size) + 1))
        var filled = 0
        while filled < bytes.count {
            let got = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress! + filled, $0.count - filled)
            }
            if got < 0 {
                if errno == EINTR { continue }
                throw FileError("\(path)")
            }
            if got == 0 { break }
            filled += got
        }
        bytes.removeLast(bytes.count - filled)
        return bytes
    }

    /// Numbers temporary names: a name made longer than the file's own might be too long for the system.
    static let writes = Atomic<Int>(0)

    /// Writes a file under a temporary name beside it, then renames it: a reader sees the old file or the new one. A
    /// link of that name is replaced, not followed. Blocks.
    static func replace(_ path: String, with bytes: [UInt8]) throws(FileError) {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let number = writes.wrappingAdd(1, ordering: .relaxed).newValue
        let temporary = "\(folder).\(getpid()).\(number).part"
        // Removes a killed run's remainder, also a link; the exclusive open makes the file ours.
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileError(path) }
        var written = 0
        while written < bytes.count {
            let put = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress! + written, $0.count - written)
            }
            if put < 0 {
                if errno == EINTR { continue }
                let code = errno
                close(descriptor)
                unlink(temporary)
                throw FileError(path, errno: code)
            }
            written += put
        }
        guard close(descriptor) == 0, rename(temporary, path) == 0 else {
            let code = errno
            unlink(temporary)
            throw FileError(path, errno: code)
        }
    }

    static func makeFolder(_ path: String) throws(FileError) {
        if mkdir(path, 0o755) == 0 { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            try makeFolder(String(path[..<slash]))
            if mkdir(path, 0o755) == 0 { return }
        }
        let code = errno
        guard code == EEXIST, try kind(of: FilePath(path)) == .folder else {
            throw FileError(path, errno: code)
        }
    }

    /// As `makeFolder`; refuses a link.
    static func makeOwnFolder(_ path: String) throws(FileError) {
        try makeFolder(path)
        var status = stat()
        guard lstat(path, &status) == 0 else { throw FileError(path) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw FileError(path, reason: "a link; results would go where it leads")
        }
    }

    static func remove(_ path: String) throws(FileError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileError(path) }
    }

    static func removeFolder(_ path: String) throws(FileError) {
        guard rmdir(path) == 0 || errno == ENOENT else { throw FileError(path) }
    }
}
