/// How bad a diagnostic is.
package enum Severity: String, Sendable, Hashable {
    /// The configuration cannot be used.
    case fatal
    /// It can be used, and may not do what was meant.
    case warning
}
