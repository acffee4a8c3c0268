import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A folder of one's own that goes away with its owner.
package final class TemporaryDirectory: Sendable {
    /// The absolute path, without a slash at its end.
    package let path: String

    /// Makes a folder that only this user can enter, in TMPDIR or /tmp.
    ///
    /// - Parameter prefix: How its name starts.
    /// - Throws: When the folder cannot be made.
    package init(prefix: String) throws(SystemError) {
        var base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        while base.count > 1, base.hasSuffix("/") { base.removeLast() }
        if base.isEmpty { base = "/tmp" }
        var template = Array("\(base)/\(prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SystemError(.file, "cannot make a temporary folder in \(base)", errno: errno)
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { remove() }

    /// Removes the folder and everything in it; also done when the last reference goes.
    ///
    /// What cannot be removed stays: the system clears its temporary folder itself.
    package func remove() {
        _ = powersync_remove_tree(path)
    }
}
