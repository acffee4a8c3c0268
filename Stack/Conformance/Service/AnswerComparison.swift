import PowerSyncWire

/// Tells where the answer to one request differs from the recorded one (Tests/Fixtures/service/README.md).
package struct AnswerComparison {
    /// What must be equal and is not.
    package private(set) var differences: [String] = []
    /// What differs beside that: it counts line by line only.
    package private(set) var detailDifferences: [String] = []
    /// Whether anything was compared.
    package private(set) var isCompared = true

    /// Members whose values are never equal, or are the real service's own matter.
    private static let incomparable: Set = ["touched_at", "stack", "trace_id"]

    /// Members of which it counts that they are there, and are not empty.
    private static let changing: Set = [
        "ts", "slot_name", "last_lsn", "last_keepalive_ts", "last_checkpoint_ts", "replication_lag_bytes",
        "wal_status", "safe_wal_size", "max_slot_wal_keep_size",
    ]

    /// Compares two answers.
    ///
    /// - Parameters:
    ///   - request: what was asked.
    ///   - recorded: what the real service answered.
    ///   - received: what the service under test answered.
    package init(_ request: RecordedRequest, recorded: RecordedAnswer, received: RecordedAnswer) {
        // An endpoint that fails in the real service whatever is asked (service 3.14 D15).
        if request.path == "/write-checkpoint.json", recorded.status == 500 {
            isCompared = false
            return
        }
        differences = recorded.differences(from: received, withLength: false)
        guard let old = recorded.body else { return }
        let new = received.body ?? .string("")
        var details: [String] = []
        compare(Self.comparable(old, request), Self.comparable(new, request), "body", &details)
        guard differences.isEmpty else { return }
        let heads = recorded.differences(from: received, withLength: true)
        if old != new, old.objectMembers?.count != new.objectMembers?.count {
            details.append("the bodies differ")
        } else {
            details += heads
        }
        detailDifferences = details.map { "\(request.method) \(request.path): \($0)" }
    }

    private static func comparable(_ json: JSON, _ request: RecordedRequest) -> JSON {
        if let elements = json.arrayValue { return .array(elements.map { comparable($0, request) }) }
        guard let members = json.objectMembers else { return json }
        let isWrongText = request.claims["nbf"] != nil
        return .object(
            members.compactMap { member in
                if incomparable.contains(member.name) { return nil }
                // The real service names the wrong claim there (service 3.14 D16).
                if member.name == "description", isWrongText { return nil }
                return JSONMember(member.name, value(of: member, request))
            })
    }

    private static func value(of member: JSONMember, _ request: RecordedRequest) -> JSON {
        if changing.contains(member.name), member.value != .string("") { return .string("(some)") }
        // Port and database are of one run.
        if member.name == "postgres_uri", let uri = member.value.stringValue,
            let colon = uri.lastIndex(of: ":")
        {
            return .string(String(uri[..<colon]))
        }
        return comparable(member.value, request)
    }

    private mutating func compare(
        _ recorded: JSON, _ received: JSON, _ path: String, _ details: inout [String]
    ) {
        if let old = recorded.arrayValue, let new = received.arrayValue, old.count == new.count {
            for (index, pair) in zip(old, new).enumerated() {
                compare(pair.0, pair.1, "\(path)[\(index)]", &details)
            }
            return
        }
        guard let old = recorded.objectMembers, let new = received.objectMembers else {
            return compareValues(recorded, received, path, &details)
        }
        for member in old {
            guard let value = received[member.name] else {
                differences.append("\(path).\(member.name) is missing, recorded \(member.value.text)")
                continue
            }
            compare(member.value, value, "\(path).\(member.name)", &details)
        }
        for member in new where recorded[member.name] == nil {
            differences.append("\(path).\(member.name) is \(member.value.text), recorded none")
        }
    }

    private mutating func compareValues(
        _ recorded: JSON, _ received: JSON, _ path: String, _ details: inout [String]
    ) {
        func difference(_ old: String, _ new: String) -> String {
            "\(path):\n    - \(old.prefix(600))\n    + \(new.prefix(600))"
        }
        // A text of several lines is that of a parser of the real service, which shows the place.
        if let old = recorded.stringValue, old.contains("\n"), let new = received.stringValue {
            let firsts = [old, new].map { String($0.prefix { $0 != "\n" }) }
            if ExactText(firsts[0]) != ExactText(firsts[1]) {
                details.append(difference(firsts[0], firsts[1]))
            }
            return
        }
        if ExactText(recorded.text) != ExactText(received.text) {
            differences.append(difference(recorded.text, received.text))
        }
    }
}
