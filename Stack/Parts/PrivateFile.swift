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

/// Files and folders that only their owner may read: what is in them has passwords, keys or rows of users.
package enum PrivateFile {
    /// Makes a folder that only we can enter; one that is there already becomes so.
    ///
    /// - Parameter path: the folder; those above it are made if need be, for everybody.
    /// - Returns: the path.
    /// - Throws: `StackError` with `.file`.
    @discardableResult
    static func makeFolder(_ path: String) throws(StackError) -> String {
        try TextFile.makeFolder(path)
        guard chmod(path, 0o700) == 0 else {
            throw StackError(
                .file, "cannot make the folder \(path) private: \(String(cString: strerror(errno)))")
        }
        return path
    }

    /// Opens a new file for writing at its end; what was there before is gone.
    ///
    /// - Parameter path: the file.
    /// - Returns: a descriptor, which the caller closes.
    /// - Throws: `StackError` with `.file`.
    package static func create(_ path: String) throws(StackError) -> Int32 {
        unlink(path)
        return try open(path, O_EXCL)
    }

    /// Opens a file for writing at its end, and makes it if need be.
    ///
    /// - Parameter path: the file.
    /// - Returns: a descriptor, which the caller closes.
    /// - Throws: `StackError` with `.file`.
    static func append(_ path: String) throws(StackError) -> Int32 { try open(path, 0) }

    private static func open(_ path: String, _ more: Int32) throws(StackError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | more
        #if canImport(Glibc)
            let descriptor = Glibc.open(path, flags, 0o600)
        #elseif canImport(Musl)
            let descriptor = Musl.open(path, flags, 0o600)
        #else
            let descriptor = Darwin.open(path, flags, 0o600)
        #endif
        guard descriptor >= 0 else {
            throw StackError(.file, "cannot write \(path): \(String(cString: strerror(errno)))")
        }
        return descriptor
    }

    /// Writes a text, replacing the file as a whole.
    ///
    /// - Parameters:
    ///   - text: what it shall hold.
    ///   - path: the file.
    /// - Throws: `StackError` with `.file`.
    package static func write(_ text: String, to path: String) throws(StackError) {
        let descriptor = try create(path + ".new")
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes = bytes.dropFirst(count)
        }
        guard close(descriptor) == 0, bytes.isEmpty, rename(path + ".new", path) == 0 else {
            throw StackError(.file, "cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }
}

/// Outside of the type, whose own `write` hides the function.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
