import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One recorded scenario of the real service (Tests/Fixtures/service/README.md).
package struct ServiceScenario: Sendable {
    /// The name.
    package let name: String
    /// The text of the sync config with which it begins.
    package let syncConfig: String
    /// What is run on the source before the service starts.
    package let schema: [String]
    /// Members of the service's configuration file.
    package let service: JSON
    /// What happens, in order.
    package let steps: [ServiceStep]

    /// Reads a scenario file.
    ///
    /// - Parameter text: its JSON.
    /// - Throws: `StackError` with `.file`, which says what is missing where.
    package init(parsing text: String) throws(StackError) {
        let json: JSON
        do throws(WireError) {
            json = try RecordedJSON.parse(Array(text.utf8))
        } catch {
            throw StackError(.file, "not JSON: \(error)")
        }
        name = try Self.text(json, "name")
        syncConfig = try Self.text(json, "sync_config")
        schema =
            try Self.texts(json["schema"] ?? .array([]), "schema")
            + Self.texts(json["seed"] ?? .array([]), "seed")
        service = json["service"] ?? .object([])
        guard let steps = json["steps"]?.arrayValue else { throw StackError(.file, "\"steps\" are missing") }
        var parsed: [ServiceStep] = []
        var opened: Set<String> = []
        for (index, json) in steps.enumerated() {
            do throws(StackError) {
                let step = try Self.step(json)
                if let unknown = Self.clients(of: step).first(where: { !opened.contains($0) }) {
                    throw StackError(.file, "no client \(unknown) was opened")
                }
                if case .open(let opening) = step { opened.insert(opening.client) }
                parsed.append(step)
            } catch {
                throw StackError(.file, "step \(index): \(error.message)")
            }
        }
        self.steps = parsed
    }

    /// Every sync config that the service gets, in order.
    package var syncConfigs: [String] {
        [syncConfig]
            + steps.compactMap { step in
                if case .restart(let syncConfig) = step { syncConfig } else { nil }
            }
    }

    /// The most streams that may be open at once, if the configuration says so.
    package var streamLimit: Int64? {
        service["api"]?["parameters"]?["max_concurrent_connections"]?.int64Value
    }

    /// Whether its storage is compacted.
    package var compacts: Bool { steps.contains { if case .compact = $0 { true } else { false } } }

    /// Returns a name for the files of what a scenario names, which leads nowhere else.
    package static func fileName(_ name: String) -> String {
        String(
            name.unicodeScalars.prefix(80).map { scalar -> Character in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_": Character(scalar)
                default: "_"
                }
            })
    }

    /// The clients that a step needs.
    private static func clients(of step: ServiceStep) -> [String] {
        switch step {
        case .open(let opening): [opening.positionsOf].compactMap { $0 }
        case .settle(let lines): lines.keys.sorted()
        case .waitEnd(let end): [end.client] + end.lines.keys.sorted()
        case .close(let client): [client]
        case .tx, .http, .pause, .stop, .restart, .compact: []
        }
    }

    private static func step(_ json: JSON) throws(StackError) -> ServiceStep {
        if let client = json["open"]?.stringValue {
            return .open(
                RecordedOpening(
                    client: client, user: try text(json, "user"), claims: json["claims"] ?? .object([]),
                    accept: try text(json, "accept"), headers: headers(json["headers"]),
                    sent: json["sent"] ?? .object([]), positionsOf: json["positions_of"]?.stringValue,
                    positionsAdd: json["positions_add"]?.int64Value ?? 0))
        }
        if let statements = json["tx"] { return .tx(try texts(statements, "tx")) }
        if json["settle"] != nil { return .settle(try lines(json)) }
        if let client = json["close"]?.stringValue { return .close(client) }
        if let client = json["wait_end"]?.stringValue {
            guard let ended = StreamEnd(rawValue: try text(json, "ended")),
                let seconds = json["seconds"]?.int64Value,
                case .number(let lexeme)? = json["after_seconds"], let after = Double(lexeme)
            else {
                throw StackError(
                    .file, "\"wait_end\" needs \"ended\", \"seconds\" and \"after_seconds\"")
            }
            return .waitEnd(
                RecordedEnd(
                    client: client, seconds: seconds, afterSeconds: after, ended: ended,
                    lines: try lines(json)))
        }
        if let request = json["http"], let answer = json["answer"] {
            return .http(try Self.request(request), try RecordedAnswer(answer))
        }
        if let milliseconds = json["pause"]?.int64Value { return .pause(.milliseconds(milliseconds)) }
        if json["stop"] != nil { return .stop }
        if let restart = json["restart"] { return .restart(syncConfig: restart["sync_config"]?.stringValue) }
        if json["compact"] != nil { return .compact }
        let names = (json.objectMembers ?? []).map(\.name).joined(separator: ", ")
        throw StackError(.file, "no step is known with \(names)")
    }

    private static func request(_ json: JSON) throws(StackError) -> RecordedRequest {
        var fields = headers(json["headers"])
        var body = json["raw"]?.stringValue.map { Array($0.utf8) }
        if body == nil, let value = json["body"], !value.isNull {
            body = try RecordedJSON.spellingOut(value).utf8
        }
        if body != nil, !fields.contains(where: { $0.name.lowercased() == "content-type" }) {
            fields.append(("Content-Type", "application/json"))
        }
        return RecordedRequest(
            method: try text(json, "method"), path: try text(json, "path"), user: try text(json, "user"),
            claims: json["claims"] ?? .object([]), token: json["token"]?.stringValue, headers: fields,
            body: body)
    }

    private static func lines(_ step: JSON) throws(StackError) -> [String: RecordedLines] {
        var result: [String: RecordedLines] = [:]
        for client in step["lines"]?.objectMembers ?? [] {
            var lines = RecordedLines(lines: [])
            for entry in client.value.arrayValue ?? [] {
                if let response = entry["response"] {
                    lines.response = try RecordedAnswer(response)
                } else if let line = entry["line"] {
                    lines.lines.append(line)
                    if let text = entry["bson"]?.stringValue {
                        guard let document = Data(base64Encoded: text) else {
                            throw StackError(.file, "\"bson\" of \(client.name) is not base64")
                        }
                        try lines.types.add(Array(document))
                    }
                } else {
                    throw StackError(.file, "an entry of \(client.name) is neither response nor line")
                }
            }
            result[client.name] = lines
        }
        return result
    }

    private static func headers(_ json: JSON?) -> [(name: String, value: String)] {
        (json?.objectMembers ?? []).map { (name: $0.name, value: $0.value.stringValue ?? "") }
    }

    private static func text(_ json: JSON, _ name: String) throws(StackError) -> String {
        guard let text = json[name]?.stringValue else { throw StackError(.file, "\"\(name)\" is missing") }
        return text
    }

    private static func texts(_ json: JSON, _ name: String) throws(StackError) -> [String] {
        guard let elements = json.arrayValue else { throw StackError(.file, "\"\(name)\" is no list") }
        var texts: [String] = []
        for element in elements {
            guard let text = element.stringValue else { throw StackError(.file, "a statement is no text") }
            texts.append(text)
        }
        return texts
    }
}
