import PowerSyncSyncRules
import PowerSyncWire

/// A message about a configuration in the form of the admin routes.
struct LanguageMessage: Hashable, Sendable {
    /// How bad it is.
    let severity: Severity
    /// The text.
    let message: ExactText
    /// Its place in UTF-16 units of the YAML; nil for none.
    let range: Range<Int>?
    /// The line of its place, from 1.
    let line: Int?

    /// Makes a message.
    init(_ severity: Severity, _ message: String, _ range: Range<Int>?, line: Int?) {
        self.severity = severity
        self.message = ExactText(message)
        self.range = range
        self.line = line
    }

    /// The messages of ours, without those that the admin routes do not have.
    static func all(of config: CompiledConfig) -> [LanguageMessage] {
        config.diagnostics.all.compactMap { diagnostic in
            guard let (message, place) = diagnostic.asRecorded else { return nil }
            return LanguageMessage(
                diagnostic.severity, message,
                place.map { config.text.utf16($0.start)..<config.text.utf16($0.end) },
                line: place.map { config.text.place($0.start).line })
        }
    }

    /// A line for people.
    var text: String {
        let place = range.map { " \($0.lowerBound)–\($0.upperBound)" } ?? ""
        return "\(severity.rawValue)\(place): \(message.text)"
    }

    /// Whether the text is one of the real service's own SQL, YAML and JSON parsers.
    var isOfParser: Bool {
        isOfYAML || Self.beginnings.contains { message.text.hasPrefix($0) }
    }

    /// Whether the text is one of its parser of YAML.
    var isOfYAML: Bool {
        Self.yamlBeginnings.contains { message.text.hasPrefix($0) }
            || Self.yamlParts.contains { message.text.contains($0) }
    }

    private static let beginnings =
        ["Syntax error at", "Unexpected end of input", "invalid syntax at", "JSON value expected"]
        + ["Expected end of input", "Cannot read properties"]
    private static let yamlBeginnings = [
        "Tabs are not allowed", "All mapping items", "All sequence items", "Map keys must be unique",
        "Implicit ",
        "Nested mappings",
    ]
    private static let yamlParts = [" in YAML stream", " at node end"]

    /// What counts of it, without the line.
    fileprivate var compared: LanguageMessage {
        var text = message.text
        if text.hasPrefix("Left and right sides of OR "), let end = text.firstRange(of: "queries.") {
            text = String(text[..<end.upperBound])
        }
        if text.hasSuffix(" not supported here") {
            text = text.split(separator: " ", maxSplits: 1).last.map(String.init) ?? text
        }
        return LanguageMessage(severity, text, range, line: nil)
    }
}

/// Compares messages as the recordings' README says.
enum MessageComparison {
    /// The messages that are not there, and those that are too many; both empty if all are equal.
    ///
    /// - Parameters:
    ///   - ours: what ours says.
    ///   - recorded: what is recorded.
    /// - Returns: lines for people.
    static func differences(
        of ours: [LanguageMessage], from recorded: [LanguageMessage]
    ) -> (missing: [String], extra: [String]) {
        let fatal = ours.filter { $0.severity == .fatal }
        var parsers = recorded.filter(\.isOfParser)
        // Its parser of YAML goes on behind an error and tells what follows from it; ours stops there.
        if let first = parsers.first(where: \.isOfYAML) { parsers = [first] }
        if !parsers.isEmpty {
            // Behind such an error nothing else is compared.
            let missing = parsers.filter { parser in
                !fatal.contains { parser.line == nil || $0.line == parser.line }
            }
            return (missing.map(\.text), missing.isEmpty ? [] : ours.map(\.text))
        }
        var left = ours
        var missing: [LanguageMessage] = []
        for message in recorded where message.range != nil {
            if let index = left.firstIndex(where: { $0.compared == message.compared }) {
                left.remove(at: index)
            } else {
                missing.append(message)
            }
        }
        // What has no place needs any fatal error, one that is nothing else's first.
        for message in recorded where message.range == nil {
            if let index = left.firstIndex(where: { $0.severity == .fatal }) {
                left.remove(at: index)
            } else if fatal.isEmpty {
                missing.append(message)
            }
        }
        return (missing.map(\.text), left.map(\.text))
    }
}
