import PowerSyncWire

/// Group H: checkpoints that the backend counts.
extension SwiftCases {
    static let checkpointCases: [(String, Body)] = [
        ("139", checkpointsRise), ("140", clientsAreCountedApart), ("141", userIsThatOfTheToken),
        ("145", checkpointsAtOnceDiffer),
    ]

    /// The request for the next checkpoint of a client.
    private static func request(
        _ client: String, as user: String = "alice", claiming other: String? = nil
    ) -> ContractRequest {
        var request = ContractRequest()
        request.user = user
        request.method = "PUT"
        request.path = "${path.checkpoint}"
        var members = [JSONMember("client_id", .string(client))]
        if let other { members.append(JSONMember("user_id", .string(other))) }
        request.content = .json(.object(members))
        return request
    }

    /// The number in an answer, which is a text in L2 and may be a number below.
    private static func number(_ answer: ContractAnswer, _ session: ContractSession) throws(ContractFailure)
        -> Int64
    {
        try require(answer.status == 200, "a checkpoint is answered \(answer.status)")
        let value = try require(answer.json?["checkpoint"], "there is no checkpoint in the answer")
        if let text = value.stringValue {
            return try require(Int64(text), "the checkpoint is \(text)")
        }
        try require(session.target.profile < .l2, "the checkpoint is no text")
        return try require(value.int64Value, "the checkpoint is \(value.text)")
    }

    private static func next(
        _ session: ContractSession, _ client: String, as user: String = "alice", claiming other: String? = nil
    ) async throws -> Int64 {
        let answer = try await session.answer(to: request(client, as: user, claiming: other))
        return try number(answer, session)
    }

    private static func checkpointsRise(_ session: ContractSession) async throws -> ContractVerdict {
        let first = try await next(session, "${c}")
        let second = try await next(session, "${c}")
        try require(second == first + 1, "behind \(first) comes \(second)")
        return .passed
    }

    private static func clientsAreCountedApart(_ session: ContractSession) async throws -> ContractVerdict {
        let first = try await next(session, "${c}")
        for _ in 0..<3 { _ = try await next(session, "${other}") }
        let second = try await next(session, "${c}")
        try require(second == first + 1, "behind \(first) and three of another client comes \(second)")
        return .passed
    }

    private static func userIsThatOfTheToken(_ session: ContractSession) async throws -> ContractVerdict {
        let first = try await next(session, "${c}", as: "bob")
        for _ in 0..<3 { _ = try await next(session, "${c}", claiming: "${user.bob}") }
        let second = try await next(session, "${c}", as: "bob")
        try require(second == first + 1, "behind \(first) and three of another user comes \(second)")
        return .passed
    }

    private static func checkpointsAtOnceDiffer(_ session: ContractSession) async throws -> ContractVerdict {
        var request = request("${c}")
        request.times = 50
        request.isAtOnce = true
        let answers = try await session.answers(to: request)
        var numbers: Set<Int64> = []
        for answer in answers { numbers.insert(try number(answer, session)) }
        try require(numbers.count == 50, "fifty answers are \(numbers.count) numbers")
        return .passed
    }
}
