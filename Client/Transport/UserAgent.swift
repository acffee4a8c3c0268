import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the SDK calls itself in requests.
package enum UserAgent {
    /// The version of the SDK.
    package static let version = PackageVersion.current

    /// `powersync-swift/<version> <system>/<major.minor>`, as `powersync-swift/0.2.0 Linux/6.1`.
    package static func current() -> String {
        var names = utsname()
        guard uname(&names) == 0 else { return "powersync-swift/\(version)" }
        let system = text(of: &names.sysname)
        let release = text(of: &names.release).split(separator: ".").prefix(2).joined(separator: ".")
        return "powersync-swift/\(version) \(system)/\(release)"
    }

    private static func text<Buffer>(of buffer: inout Buffer) -> String {
        withUnsafeBytes(of: &buffer) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
