import CPowerSyncEdit

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the system tells of terminals.
package enum Terminal {
    /// Whether a descriptor leads to a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// How many columns a terminal has at this moment; nil if it does not tell.
    package static func columns(of descriptor: Int32) -> Int? {
        let columns = ps_edit_columns(descriptor)
        return columns > 0 ? Int(columns) : nil
    }

    /// Whether a kind of terminal can do nothing but write one character behind the other.
    ///
    /// - Parameter kind: the kind; nil for what the environment says (`TERM`).
    /// - Returns: whether it is so; also where there is no kind.
    package static func isDumb(_ kind: String? = nil) -> Bool {
        let kind = kind ?? getenv("TERM").map { String(cString: $0) } ?? ""
        return kind.isEmpty || kind == "dumb"
    }
}
