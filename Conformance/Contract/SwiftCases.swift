import PowerSyncWire

/// The cases that are more than requests and readings, by their numbers.
package enum SwiftCases {
    /// What a case does on a backend.
    package typealias Body = @Sendable (ContractSession) async throws -> ContractVerdict

    /// All of them.
    package static let all: [CaseNumber: Body] = {
        var all: [CaseNumber: Body] = [:]
        let groups = [protocolCases, tokenCases, applyCases, replayCases, ownerCases, checkpointCases]
        for (text, body) in groups.joined() {
            guard let number = CaseNumber(text) else { preconditionFailure("\(text) is no number of a case") }
            let former = all.updateValue(body, forKey: number)
            precondition(former == nil, "\(text) stands twice")
        }
        return all
    }()

    /// Throws unless something is so, and says what is not.
    static func require(_ isSo: Bool, _ failure: @autoclosure () -> String) throws(ContractFailure) {
        guard isSo else { throw ContractFailure(failure()) }
    }

    /// Returns a value that must be there.
    @discardableResult
    static func require<Value>(
        _ value: Value?, _ failure: @autoclosure () -> String
    ) throws(ContractFailure) -> Value {
        guard let value else { throw ContractFailure(failure()) }
        return value
    }

    /// One operation.
    static func operation(
        _ kind: String, _ table: String, _ id: String, _ data: [JSONMember]? = nil
    ) -> JSON {
        var members = [
            JSONMember("op", .string(kind)), JSONMember("table", .string(table)),
            JSONMember("id", .string(id)),
        ]
        if let data { members.append(JSONMember("data", .object(data))) }
        return .object(members)
    }

    /// A PUT into `lists` by who sends it.
    static func list(_ id: String, name: String) -> JSON {
        operation(
            "PUT", "lists", id, [JSONMember("name", .string(name)), JSONMember("owner_id", .string("${me}"))])
    }
}
