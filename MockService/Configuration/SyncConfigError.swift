import PowerSyncCrypto
import PowerSyncSyncRules

/// A sync configuration that cannot be used, with everything that is told of it.
package struct SyncConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file that the places are of, as messages name it.
    package let file: String
    /// What is wrong, and what may be, in the order of the text.
    package let diagnostics: [PlacedDiagnostic]

    /// Makes an error of what was found.
    package init(_ config: CompiledConfig, of text: SyncConfigText) {
        file = text.file
        diagnostics = text.diagnostics(of: config)
    }

    /// A line for each thing, with its place, as compilers write it and editors read it.
    package var lines: [String] { diagnostics.map { "\(file):\($0.line)" } }

    /// The lines.
    package var description: String { lines.joined(separator: "\n") }
}

extension SyncPlan {
    /// The hash by which a state knows the configuration that it was made by: of the text, and of what texts mean.
    static func hash(of text: String) -> String {
        Hexadecimal.encode(Digest.sha256(Array("\(format)\n\(text)".utf8)))
    }
}
