#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Which of the mistakes of a folder is made: `Scripts/plant.sh` copies this into each target that has one.
enum Planted {
    /// Read once, so that a switch where much is done costs nothing.
    private static let name = getenv("POWERSYNC_PLANTED").map { String(cString: $0) }

    /// Whether a mistake is made.
    ///
    /// - Parameter name: Its patch, without `.patch`.
    /// - Returns: Whether `POWERSYNC_PLANTED` names it.
    static func isHere(_ name: String) -> Bool {
        guard let planted = Self.name else { return false }
        return planted == name
    }
}
