import PowerSyncCrypto
import PowerSyncSyncRules

/// A sync configuration that cannot be used, with everything that is told of it.
package struct SyncConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, and what may be, in the order of the text.
    package let diagnostics: [PlacedDiagnostic]

    /// Makes an error of what was found.
    package init(_ config: CompiledConfig) { diagnostics = PlacedDiagnostic.all(of: config) }

    /// A line for each thing, with its place.
    package var description: String { lines().joined(separator: "\n") }

    /// A line for each thing, with its place.
    ///
    /// - Parameter name: What the text is called, which stands in front of each line as compilers write it; nil for none.
    /// - Returns: The lines.
    package func lines(named name: String? = nil) -> [String] {
        diagnostics.map { (name.map { "\($0):" } ?? "") + $0.line }
    }
}

extension SyncPlan {
    /// The hash by which a state knows the configuration that it was made by: of the text, and of what texts mean.
    static func hash(of text: String) -> String {
        Hexadecimal.encode(Digest.sha256(Array("\(format)\n\(text)".utf8)))
    }
}
