/// How serious a log line is, from the least to the most.
public enum LogSeverity: Int, CaseIterable, Sendable {
    /// Details for whoever looks for a fault.
    case debug = 0
    /// Something normal that is worth knowing.
    case info
    /// Something odd that the SDK copes with.
    case warning
    /// Something that failed.
    case error
    /// Something that must never happen.
    case fault

    /// The name as it stands in a log line: DEBUG, INFO, WARNING, ERROR or FAULT.
    public var stringValue: String {
        switch self {
        case .debug: "DEBUG"
        case .info: "INFO"
        case .warning: "WARNING"
        case .error: "ERROR"
        case .fault: "FAULT"
        }
    }

    /// Returns the name of the severity with a raw value, nil if there is none.
    public static func string(from intValue: Int) -> String? {
        LogSeverity(rawValue: intValue)?.stringValue
    }
}
