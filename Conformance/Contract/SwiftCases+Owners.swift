import PowerSyncWire

/// Group G: whose rows are whose.
extension SwiftCases {
    static let ownerCases: [(String, Body)] = [
        ("127", foreignRowsAreAnsweredAsMissingOnes), ("174", foreignParentsAreAnsweredAsMissingOnes),
    ]

    /// The answers to one operation, without what names the request, the letter and the row.
    private static func bodies(
        _ session: ContractSession, _ operation: JSON, naming names: [String], client: String
    ) async throws -> [String] {
        try await session.upload([[operation]], as: "bob", client: client).map { answer in
            try require(answer.status == 200, "the answer is \(answer.status)")
            let json = try require(answer.json, "the answer is no JSON")
            var text = nameless(json).text
            for name in names { text = text.replacing(name, with: "ID") }
            return text
        }
    }

    private static func nameless(_ json: JSON) -> JSON {
        switch json {
        case .array(let elements): return .array(elements.map(nameless))
        case .object(let members):
            let kept = members.filter { !["request_id", "rejection_id"].contains($0.name) }
            return .object(kept.map { JSONMember($0.name, nameless($0.value)) })
        default: return json
        }
    }

    private static func foreignRowsAreAnsweredAsMissingOnes(
        _ session: ContractSession
    ) async throws -> ContractVerdict {
        let (theirs, missing) = (try await session.text("${fresh}"), try await session.text("${fresh}"))
        let given = try await session.upload([[list(theirs, name: "theirs")]])
        try require(given.allSatisfy { $0.status == 200 }, "the row of the other user is not applied")
        let before = try await session.row("lists", theirs)
        try require(before != nil, "the row of the other user is not there")
        let changes: [(kind: String, data: [JSONMember]?)] = [
            ("PATCH", [JSONMember("name", .string("mine"))]), ("DELETE", nil),
        ]
        for (number, change) in changes.enumerated() {
            let (kind, data) = (change.kind, change.data)
            // Each from a client of its own, so that the numbers of operations are the same ones.
            let foreign = try await bodies(
                session, operation(kind, "lists", theirs, data), naming: [theirs], client: "foreign\(number)")
            let none = try await bodies(
                session, operation(kind, "lists", missing, data), naming: [missing], client: "none\(number)")
            guard try await session.row("lists", theirs) == before else {
                return .unsafe("\(kind) has changed another user's row")
            }
            try require(foreign == none, "\(kind) is answered \(foreign), and of a missing row \(none)")
        }
        return .passed
    }

    private static func foreignParentsAreAnsweredAsMissingOnes(
        _ session: ContractSession
    ) async throws -> ContractVerdict {
        let (theirs, missing) = (try await session.text("${fresh}"), try await session.text("${fresh}"))
        let todo = try await session.text("${fresh}")
        let given = try await session.upload([[list(theirs, name: "theirs")]])
        try require(given.allSatisfy { $0.status == 200 }, "the row of the other user is not applied")
        var told: [[String]] = []
        for (parent, client) in [(theirs, "foreign"), (missing, "none")] {
            let child = operation(
                "PUT", "todos", todo,
                [JSONMember("list_id", .string(parent)), JSONMember("description", .string("a"))])
            told.append(try await bodies(session, child, naming: [parent], client: client))
            guard try await session.row("todos", todo) == nil else {
                return .unsafe("a row is below a parent that is not the user's")
            }
        }
        try require(told[0] == told[1], "a foreign parent is answered \(told[0]), a missing one \(told[1])")
        return .passed
    }
}
