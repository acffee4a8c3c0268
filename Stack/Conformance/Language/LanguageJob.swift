import PowerSyncSyncRules
import PowerSyncWire

/// One recorded configuration: what the real compiler says of it, what the real evaluator makes of rows and requests.
struct LanguageJob: Sendable {
    /// Its number in the file.
    let id: Int
    /// The configuration.
    let yaml: String
    /// The number of its world; nil if only its messages are recorded.
    let world: Int?
    /// Whether it is one of a single expression, over the world's table `t`.
    let isExpression: Bool
    /// Whether the compiler knew the columns of the tables.
    let hasSchema: Bool
    /// The requests.
    let requests: [LanguageRequest]
    /// What is said of it.
    let messages: [LanguageMessage]
    /// What its rows and requests come to; nil if it cannot be used, or has no world.
    let items: [LanguageItem]?

    /// Reads a line.
    ///
    /// - Parameter line: the JSON.
    /// - Throws: `StackError` with `.file` for a line that is no job.
    init(_ line: [UInt8]) throws(StackError) {
        guard let json = try? RecordedValue.json(line), let id = json["id"]?.int64Value,
            let yaml = json["yaml"]?.stringValue, let result = json["result"],
            let errors = result["errors"]?.arrayValue
        else { throw StackError(.file, "it has no id, yaml and result with errors") }
        self.id = Int(id)
        self.yaml = yaml
        world = json["world"]?.int64Value.map { Int($0) }
        isExpression = json["world"] != nil && json["requests"] == nil
        hasSchema = json["schema"]?.boolValue ?? false
        requests = (json["requests"]?.arrayValue ?? []).map { LanguageRequest($0) }
        let units = Array(yaml.utf16)
        messages = errors.map { Self.message($0, units) }
        if world != nil, result["rows"] != nil {
            items = try Self.items(result)
        } else {
            items = nil
        }
    }

    private static func message(_ json: JSON, _ units: [UInt16]) -> LanguageMessage {
        let severity = Severity(rawValue: json["level"]?.stringValue ?? "") ?? .fatal
        var range: Range<Int>?
        if let start = json["start"]?.int64Value, let end = json["end"]?.int64Value {
            range = Int(start)..<Int(max(start, end))
        }
        let line = range.map { range -> Int in
            let before = units.prefix(max(range.lowerBound, 0))
            return before.count { $0 == 0x0A } + 1
        }
        return LanguageMessage(severity, json["message"]?.stringValue ?? "", range, line: line)
    }

    private static func items(_ result: JSON) throws(StackError) -> [LanguageItem] {
        var items: [LanguageItem] = []
        for table in result["rows"]?.objectMembers ?? [] {
            for (number, results) in (table.value.arrayValue ?? []).enumerated() {
                let place = LanguageItem.Place.row(ExactText(table.name), number)
                let results = results.arrayValue ?? []
                for result in results where result["error"] == nil { items.append(try row(result, place)) }
                if results.contains(where: { $0["error"] != nil }) { items.append(.failedRow(place)) }
            }
        }
        for (number, request) in (result["requests"]?.arrayValue ?? []).enumerated() {
            let place = LanguageItem.Place.request(number)
            if request["error"] != nil { items.append(.refused(place)) }
            for bucket in request["buckets"]?.arrayValue ?? [] {
                let reasons = (bucket["reasons"]?.arrayValue ?? []).map { $0.stringValue ?? $0.text }
                items.append(
                    .bucket(
                        place, ExactText(bucket["bucket"]?.stringValue ?? ""),
                        priority: Int(bucket["priority"]?.int64Value ?? -1), reasons: reasons))
            }
            for error in request["errors"]?.arrayValue ?? [] {
                items.append(.failure(place, error.stringValue ?? error.text))
            }
        }
        return items
    }

    private static func row(
        _ json: JSON, _ place: LanguageItem.Place
    ) throws(StackError) -> LanguageItem {
        var data: [(ExactText, ScalarValue)] = []
        for member in json["data"]?.objectMembers ?? [] {
            guard let value = RecordedValue.read(member.value) else {
                throw StackError(.file, "\(member.value.text) is no value")
            }
            data.append((ExactText(member.name), value))
        }
        return .row(
            place, bucket: ExactText(json["bucket"]?.stringValue ?? ""),
            table: json["table"]?.stringValue ?? "", id: json["id"]?.stringValue ?? "", data: data)
    }
}

/// A recorded request.
struct LanguageRequest: Sendable {
    /// The payload of its token.
    let token: JSON
    /// Its body.
    let body: SyncStreamRequest

    /// Reads a request: `user`, `claims` beside it, `parameters`, `streams` with their subscriptions, `defaults`.
    init(_ json: JSON) {
        let user = json["user"].map { [JSONMember("sub", $0)] } ?? []
        token = .object(user + (json["claims"]?.objectMembers ?? []))
        let subscriptions = (json["streams"]?.objectMembers ?? []).flatMap { stream in
            (stream.value.arrayValue ?? []).map { parameters in
                StreamSubscription(stream: stream.name, parameters: parameters.isNull ? nil : parameters)
            }
        }
        body = SyncStreamRequest(
            parameters: json["parameters"],
            streams: StreamSubscriptions(
                includeDefaults: json["defaults"]?.boolValue ?? true, subscriptions: subscriptions))
    }
}
