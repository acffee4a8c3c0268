import PowerSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What was typed at the prompt in earlier runs, in a file that its owner alone may read.
///
/// Each entry is one line of the file: `\n` and `\r` stand for ends of lines, `\\` for a backslash. Several runs may add
/// to it at a time. Nothing is kept where something else than a file of the user's own is in its place, such as a link
/// to `/dev/null`.
package struct StatementHistory: Sendable {
    /// How many entries are kept.
    package static let limit = 1000
    /// The largest entry in bytes.
    private static let entryLimit = 16 << 10
    /// How much of the file is read, from its end.
    private static let byteLimit = 4 << 20

    /// The file.
    package let path: String

    /// Makes a history of its file.
    package init(path: String) { self.path = path }

    /// Returns the history of the user: below `XDG_STATE_HOME`, else below `.local/state` of the home folder.
    ///
    /// - Parameter environment: the environment.
    /// - Returns: the history; nil for a user without a home.
    package static func ofUser(_ environment: [String: String]) -> StatementHistory? {
        // A relative path is to be ignored (XDG Base Directory Specification).
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return StatementHistory(path: "\(state)/powersync-stack/history")
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return StatementHistory(path: "\(home)/.local/state/powersync-stack/history")
    }

    /// Whether something that was typed is kept: not what begins with a space or sets the key of an encrypted file, and
    /// nothing that is very long.
    package static func keeps(_ entry: String) -> Bool {
        !entry.isEmpty && !entry.hasPrefix(" ") && entry.utf8.count <= entryLimit
            && !ShownText.setsKey(entry)
    }

    /// Reads the entries, the oldest first, and shortens a file that has too many, where it lies.
    ///
    /// - Returns: the newest entries; none if there is no file.
    /// - Throws: `StackError` with `.file`.
    package func load() throws(StackError) -> [String] {
        guard let descriptor = try opened(O_RDWR) else { return [] }
        defer { close(descriptor) }
        let (text, isWhole) = try read(descriptor)
        var lines = text.split(separator: "\n")
        // The first one of a part may have lost its beginning.
        if !isWhole, !lines.isEmpty { lines.removeFirst() }
        let entries = lines.suffix(Self.limit)
        if !isWhole || lines.count > Self.limit {
            let bytes = Array(entries.map { "\($0)\n" }.joined().utf8)
            guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw failure("write") }
            try write(bytes, to: descriptor)
            guard ftruncate(descriptor, off_t(bytes.count)) == 0 else { throw failure("write") }
        }
        return entries.map(Self.decoded)
    }

    /// Adds an entry at the end.
    ///
    /// - Parameter entry: what was typed.
    /// - Throws: `StackError` with `.file`.
    package func append(_ entry: String) throws(StackError) {
        if let end = path.lastIndex(of: "/") { try PrivateFile.makeFolder(String(path[..<end])) }
        guard let descriptor = try opened(O_WRONLY | O_CREAT | O_APPEND) else { return }
        defer { close(descriptor) }
        // One that was there before may have had other permissions.
        fchmod(descriptor, 0o600)
        try write(Array((Self.encoded(entry) + "\n").utf8), to: descriptor)
    }

    // MARK: The file

    /// Opens the file, which nobody else uses until it is closed, and makes it if the flags say so; nil if there is none,
    /// or something else in its place.
    private func opened(_ flags: Int32) throws(StackError) -> Int32? {
        // What is no file may have to be waited for.
        let descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o600)
        if descriptor < 0 {
            // Nobody reads from what is in its place (ENXIO).
            if errno == ENOENT || errno == ENXIO { return nil }
            throw failure("open")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid()
        else {
            close(descriptor)
            return nil
        }
        // Others have it for a moment. Where the file system knows no locks, two runs at a time may lose an entry.
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return descriptor
    }

    /// Reads the end of the file, and whether that is all of it.
    private func read(_ descriptor: Int32) throws(StackError) -> (text: Substring, isWhole: Bool) {
        let size = Int(lseek(descriptor, 0, SEEK_END))
        let start = max(0, size - Self.byteLimit)
        guard size >= 0, lseek(descriptor, off_t(start), SEEK_SET) >= 0 else { throw failure("read") }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < Self.byteLimit {
            let count = systemRead(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read") }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        return (String(decoding: bytes, as: UTF8.self)[...], start == 0)
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) throws(StackError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write") }
            rest = rest.dropFirst(count)
        }
    }

    private func failure(_ what: String) -> StackError {
        StackError(.file, "cannot \(what) \(path): \(String(cString: strerror(errno)))")
    }

    // MARK: Entries

    private static func encoded(_ entry: String) -> String {
        var text = ""
        for scalar in entry.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func decoded(_ line: Substring) -> String {
        var text = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in line.unicodeScalars {
            if isEscaped {
                text.append(scalar == "n" ? "\n" : scalar == "r" ? "\r" : scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

/// Outside of the type, whose own functions hide these.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
