import PowerSyncCommandLine

/// How much the log says, and how its lines are spelled.
struct LogSettings: Sendable {
    /// The lightest lines that are written.
    private(set) var level = LogLevel.info
    /// How they are spelled.
    private(set) var format = Log.Format.text

    /// Reads them.
    ///
    /// - Parameters:
    ///   - reader: the environment.
    ///   - problems: gets what is wrong.
    init(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        if let name = problems.read({ try reader.text("LOG_LEVEL") }) {
            if let known = LogLevel(name: name) {
                level = known
            } else {
                problems.add("LOG_LEVEL", "must be one of trace, debug, info, warning, error")
            }
        }
        if let name = problems.read({ try reader.text("LOG_FORMAT") }) {
            if let known = Log.Format(rawValue: name) {
                format = known
            } else {
                problems.add("LOG_FORMAT", "must be text or json")
            }
        }
    }
}
