import PowerSyncWire

/// Tells where the answer to one request differs from the recorded one (Tests/Fixtures/service/README.md).
package struct AnswerComparison {
    /// What must be equal and is not.
    package private(set) var differences: [String] = []
    /// What differs beside that: it counts line by line only.
    package private(set) var detailDifferences: [String] = []

    /// Members whose values are never equal, or are the real service's own matter.
    private static let incomparable: Set = ["touched_at", "stack", "trace_id"]

    /// Compares two answers.
    ///
    /// - Parameters:
    ///   - request: what was asked.
    ///   - recorded: what the real service answered.
    ///   - received: what the service under test answered.
    package init(_ request: RecordedRequest, recorded: RecordedAnswer, received: RecordedAnswer) {
        // An endpoint that fails in the real service whatever is asked (service 3.14 D15).
        if request.path == "/write-checkpoint.json", recorded.status == 500 { return }
        differences = recorded.differences(from: received, withLength: false)
        guard let old = recorded.body else { return }
        let new = received.body ?? .string("")
        compare(Self.comparable(old, request), Self.comparable(new, request), "body")
        let heads = recorded.differences(from: received, withLength: true)
        if differences.isEmpty, old != new, old.objectMembers?.count != new.objectMembers?.count {
            detailDifferences.append("\(request.method) \(request.path): the bodies differ")
        } else if differences.isEmpty, !heads.isEmpty {
            detailDifferences += heads.map { "\(request.method) \(request.path): \($0)" }
        }
    }

    private static func comparable(_ json: JSON, _ request: RecordedRequest) -> JSON {
        guard let members = json.objectMembers else { return json }
        let isWrongText = request.claims["nbf"] != nil
        return .object(
            members.compactMap { member in
                if incomparable.contains(member.name) { return nil }
                // The real service names the wrong claim there (service 3.14 D16).
                if member.name == "description", isWrongText { return nil }
                return JSONMember(member.name, comparable(member.value, request))
            })
    }

    private mutating func compare(_ recorded: JSON, _ received: JSON, _ path: String) {
        guard let old = recorded.objectMembers, let new = received.objectMembers else {
            if recorded != received {
                differences.append(
                    "\(path):\n    - \(recorded.text.prefix(600))\n    + \(received.text.prefix(600))")
            }
            return
        }
        for member in old {
            guard let value = received[member.name] else {
                differences.append("\(path).\(member.name) is missing, recorded \(member.value.text)")
                continue
            }
            compare(member.value, value, "\(path).\(member.name)")
        }
        for member in new where recorded[member.name] == nil {
            differences.append("\(path).\(member.name) is \(member.value.text), recorded none")
        }
    }
}
