import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncWire

/// Something that the admin routes tell of a configuration, a table or a connection (service 1.10).
package struct AdminMessage: Sendable, Equatable {
    /// How bad it is.
    package let level: Severity
    /// What it is.
    package let message: String
    /// The part of the configuration that it speaks of, in UTF-16 units.
    package var location: Range<Int>?
    /// When it was found, in seconds since 1970; nil if that is not told.
    package var time: Double?

    /// Makes a message of its parts.
    package init(
        level: Severity, message: String, location: Range<Int>? = nil, time: Double? = nil
    ) {
        self.level = level
        self.message = message
        self.location = location
        self.time = time
    }

    /// Makes a message of a name.
    init(_ name: DiagnosticName, _ arguments: [String]) {
        self.init(level: name.severity, message: name.message(arguments))
    }

    /// All that is told of a configuration: of one that cannot be used one message, the others joined.
    ///
    /// - Parameters:
    ///   - config: What was compiled.
    ///   - time: Seconds since 1970.
    /// - Returns: The messages as the real service words and places them.
    package static func all(of config: CompiledConfig, at time: Double) -> [AdminMessage] {
        // Of a text without definitions no key is told, which the compiler tells.
        let isEmpty = config.diagnostics.all.contains { $0.name == .definitionsMissing }
        let told = config.diagnostics.all.compactMap { diagnostic -> AdminMessage? in
            if isEmpty, diagnostic.name == .unknownKey { return nil }
            guard let (message, range) = diagnostic.asRecorded else { return nil }
            return AdminMessage(
                level: diagnostic.severity, message: message,
                location: range.map { config.text.utf16($0.start)..<config.text.utf16($0.end) }, time: time)
        }
        guard config.plan == nil else { return told }
        var texts = told.map(\.message)
        if !told.contains(where: { $0.level == .fatal }) {
            // What this service alone refuses.
            texts += config.diagnostics.all.filter { $0.severity == .fatal }.map(\.message)
        }
        return [AdminMessage(level: .fatal, message: texts.joined(separator: ", "), time: time)]
    }

    /// What is told of how long ago something was replicated (service 10.5).
    ///
    /// - Parameter seconds: How long; nil if nothing was in this process.
    /// - Returns: The message; nil if that is not long.
    package static func age(_ seconds: Double?) -> AdminMessage? {
        guard let seconds else {
            return AdminMessage(
                level: .warning, message: "No checkpoint found, cannot calculate replication lag")
        }
        let limits: [(seconds: Int, level: Severity)] = [(900, .fatal), (300, .warning)]
        return limits.first { seconds > Double($0.seconds) }.map { limit in
            AdminMessage(
                level: limit.level, message: "No replicated commit in more than \(limit.seconds)s")
        }
    }

    /// The message as the routes spell it.
    var json: JSON {
        let place: JSON? = location.map { range in
            JSON.present([
                "start_offset": .integer(range.lowerBound), "end_offset": .integer(range.upperBound),
            ])
        }
        let moment: JSON? = time.map { .string(TimestampText.iso($0)) }
        return .present([
            "level": .string(level.rawValue), "message": .string(message), "location": place, "ts": moment,
        ])
    }
}

extension JSON {
    /// An object of the members that have a value.
    static func present(_ members: KeyValuePairs<String, JSON?>) -> JSON {
        .object(members.compactMap { member in member.value.map { JSONMember(member.key, $0) } })
    }
}
