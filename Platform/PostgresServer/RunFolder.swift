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

/// The folder of one server: its socket, its log and, when nothing is kept, its data.
enum RunFolder {
    /// Makes it below TMPDIR, or below /tmp if that is too long for a socket's path or closed to the user.
    static func make(for user: ClusterUser) throws(PostgresServerError) -> String {
        let wanted = ProcessInfo.processInfo.environment["TMPDIR"].map(absolute) ?? "/tmp"
        let isGood = wanted.utf8.count <= 60 && user.firstClosedFolder(to: wanted + "/folder") == nil
        var template = Array("\(isGood ? wanted : "/tmp")/powersync-pg-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw PostgresServerError(
                .unusableFolder, "no temporary folder can be made: \(String(cString: strerror(errno)))")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        try user.own(path)
        return path
    }

    /// The path from the root, without a slash at the end.
    static func absolute(_ path: String) -> String {
        var full = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        while full.count > 1, full.hasSuffix("/") { full.removeLast() }
        return full
    }
}
