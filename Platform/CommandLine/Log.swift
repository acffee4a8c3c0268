#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How much a log line matters.
package enum LogLevel: String, Sendable, Comparable, CaseIterable {
    /// Every step.
    case trace
    /// What helps to find a mistake.
    case debug
    /// What an operator wants to know.
    case info
    /// What is not as it should be, but goes on.
    case warning
    /// What failed.
    case error

    /// Reads a level as the official parts spell it too: `silly`, `verbose`, `http`, `warn`.
    package init?(name: String) {
        switch name.lowercased() {
        case "silly", "trace": self = .trace
        case "verbose", "http", "debug": self = .debug
        case "warn", "warning": self = .warning
        case let name:
            guard let level = LogLevel(rawValue: name) else { return nil }
            self = level
        }
    }

    /// Compares by weight, `trace` the lightest.
    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.weight < right.weight }

    private var weight: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The name of a value in a log line.
package struct LogKey: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name, such as `http.status`.
    package let rawValue: String

    /// Makes a key of its name.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Makes a key of its name.
    package init(stringLiteral name: String) { rawValue = name }
}

/// Writes log lines: a constant message, and its values beside it.
///
/// No token, row or bound value belongs into a line.
package struct Log: Sendable {
    /// How lines are spelled.
    package enum Format: String, Sendable {
        /// For people: time, level, part, message, values.
        case text
        /// One JSON object a line.
        case json
    }

    private let label: String
    private let level: LogLevel
    private let format: Format
    private let sink: @Sendable (String) -> Void

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - label: the part that speaks.
    ///   - level: the lightest lines that are written.
    ///   - format: how lines are spelled.
    ///   - sink: gets each line; standard error by default.
    package init(
        label: String, level: LogLevel = .info, format: Format = .text,
        sink: @escaping @Sendable (String) -> Void = { StandardError.print($0) }
    ) {
        self.label = label
        self.level = level
        self.format = format
        self.sink = sink
    }

    /// Returns the same log with another label.
    package func labelled(_ label: String) -> Log {
        Log(label: label, level: level, format: format, sink: sink)
    }

    /// Writes a line of the lightest level.
    package func trace(
        _ message: @autoclosure () -> String, _ values: @autoclosure () -> [LogKey: String] = [:]
    ) {
        write(.trace, message, values)
    }

    /// Writes a line that helps to find a mistake.
    package func debug(
        _ message: @autoclosure () -> String, _ values: @autoclosure () -> [LogKey: String] = [:]
    ) {
        write(.debug, message, values)
    }

    /// Writes a line that an operator wants.
    package func info(
        _ message: @autoclosure () -> String, _ values: @autoclosure () -> [LogKey: String] = [:]
    ) {
        write(.info, message, values)
    }

    /// Writes a line about something that goes on although it is not as it should be.
    package func warning(
        _ message: @autoclosure () -> String, _ values: @autoclosure () -> [LogKey: String] = [:]
    ) {
        write(.warning, message, values)
    }

    /// Writes a line about a failure.
    package func error(
        _ message: @autoclosure () -> String, _ values: @autoclosure () -> [LogKey: String] = [:]
    ) {
        write(.error, message, values)
    }

    private func write(_ level: LogLevel, _ message: () -> String, _ values: () -> [LogKey: String]) {
        guard level >= self.level else { return }
        sink(line(level, message(), values()))
    }

    /// Returns a line as it would be written, whatever level is written.
    ///
    /// - Parameters:
    ///   - level: how much it matters.
    ///   - message: what it says.
    ///   - values: its values.
    /// - Returns: the line, without its end.
    package func line(_ level: LogLevel, _ message: String, _ values: [LogKey: String]) -> String {
        let time = Date().ISO8601Format(.init(includingFractionalSeconds: true))
        let values = values.sorted { $0.key.rawValue < $1.key.rawValue }
        switch format {
        case .text:
            let rest = values.map { " \($0.key.rawValue)=\(Self.plain($0.value))" }.joined()
            let name = level.rawValue.uppercased()
            return
                "\(time) \(name)\(String(repeating: " ", count: 8 - name.count))\(label): \(message)\(rest)"
        case .json:
            let head = [("time", time), ("level", level.rawValue), ("label", label), ("message", message)]
            let members = (head + values.map { ($0.key.rawValue, $0.value) }).map { name, value in
                "\(Self.quoted(name)):\(Self.quoted(value))"
            }
            return "{\(members.joined(separator: ","))}"
        }
    }

    /// A value as it is, quoted if a reader could take it for more than one.
    private static func plain(_ value: String) -> String {
        let isPlain =
            !value.isEmpty
            && value.unicodeScalars.allSatisfy {
                $0.value > 32 && $0 != "\"" && $0 != "=" && !isUnseen($0)
            }
        return isPlain ? value : quoted(value)
    }

    /// Whether a character is not shown but acts: on a terminal, on the direction of the text, as the end of a line.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case _ where isUnseen(scalar):
                for unit in scalar.utf16 {
                    let digits = String(unit, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
