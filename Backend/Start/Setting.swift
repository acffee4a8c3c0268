import PowerSyncCommandLine

/// One variable of the environment: what help and the guard against misspelt names know of it (backend 6.3).
package struct Setting: Sendable, Hashable {
    /// How a value is spelled.
    package enum Kind: Sendable, Hashable {
        /// Anything that its rules allow.
        case text
        /// true, 1, false or 0.
        case flag
        /// A whole number.
        case number
        /// Seconds, or a number with s, m, h or d.
        case duration
        /// Texts, separated by commas.
        case list
        /// One of these.
        case choice([String])
    }

    /// The name.
    package let name: String
    /// How a value is spelled.
    package let kind: Kind
    /// Whether the value is told to nobody, and may also be in the file that `<NAME>_FILE` names: secrets, and keys of
    /// any kind.
    package let isSecret: Bool
    /// What holds in development without it; nil where nothing does, or another setting says what.
    package let standard: String?
    /// What holds in production, where that is something else.
    package let standardInProduction: String?
    /// One or two sentences; empty where the setting before it in the table tells both.
    package let help: String

    init(
        _ name: String, _ kind: Kind = .text, isSecret: Bool = false, standard: String? = nil,
        inProduction: String? = nil, help: String = ""
    ) {
        self.name = name
        self.kind = kind
        self.isSecret = isSecret
        self.standard = standard
        standardInProduction = inProduction
        self.help = help
    }

    /// The names that the environment may have for settings, those of files of secrets included.
    package static let names = Set(all.flatMap { $0.isSecret ? [$0.name, $0.name + "_FILE"] : [$0.name] })

    /// What `start --help` tells of the environment: settings that share a sentence stand together.
    static var variables: [Variable] {
        var groups: [(names: [String], help: String)] = []
        for setting in all {
            if setting.help.isEmpty, !groups.isEmpty {
                groups[groups.count - 1].names.append(setting.name)
            } else {
                groups.append((names: [setting.name], help: setting.help))
            }
        }
        return groups.map { Variable($0.names.joined(separator: ", "), help: $0.help) }
    }
}
