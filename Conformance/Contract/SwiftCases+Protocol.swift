import PowerSyncWire

/// Group A: availability and protocol.
extension SwiftCases {
    static let protocolCases: [(String, Body)] = [
        ("19", limitsAreThoseOfThePage), ("20", manyRequestsOnOneConnection),
    ]

    /// A body of 1 MiB is taken in any case (12), and what is said of other limits is a number that can hold an upload.
    private static func limitsAreThoseOfThePage(_ session: ContractSession) async throws -> ContractVerdict {
        let answer = try await session.get("${path.capabilities}")
        try require(answer.status == 200, "the capabilities are answered \(answer.status)")
        let limits = try require(answer.json?["limits"], "there are no limits in the capabilities")
        for (name, least) in [
            ("body_bytes", 1 << 20), ("transactions_per_request", 1), ("operations_per_transaction", 1_000),
        ] {
            let limit = try require(limits[name]?.int64Value, "\(name) is no number")
            try require(limit >= Int64(least), "\(name) is \(limit)")
        }
        let dialects = answer.json?["dialects"]?.arrayValue ?? []
        try require(dialects.contains(.string("v1")), "the dialects are \(dialects.map(\.text))")
        return .passed
    }

    private static func upload(
        _ session: ContractSession, _ fields: String
    ) async throws -> (head: String, body: String) {
        let token = try await require(session.target.users["alice"], "there is no alice").token()
        let id = try await session.text("${fresh}")
        let body = try await session.text(
            #"{"batch":[{"op":"PUT","table":"${table.lists}","id":"\#(id)","data":{"#
                + #""${column.lists.name}":"a","${column.lists.owner_id}":"${user.alice}"}}]}"#)
        let path = try await session.text("${path.upload}")
        let head =
            "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n"
        return (head, body)
    }

    /// Fifty requests one after the other, then one that waits for `100 Continue`.
    private static func manyRequestsOnOneConnection(_ session: ContractSession) async throws
        -> ContractVerdict
    {
        let socket = try await ContractSocket(session.target.url, within: session.patience * 2)
        for number in 1...50 {
            let (head, body) = try await upload(session, "")
            try await socket.send(head + body)
            let answer = try await socket.answer()
            try require(answer.status == 200, "request \(number) is answered \(answer.status)")
        }
        let (head, body) = try await upload(session, "Expect: 100-continue\r\n")
        try await socket.send(head)
        var answer = try await socket.answer()
        // A server may answer at once, or let the client send.
        try require(answer.status == 100, "Expect: 100-continue is answered \(answer.status)")
        try await socket.send(body)
        answer = try await socket.answer()
        try require(answer.status == 200, "behind 100 comes \(answer.status)")
        return .passed
    }
}
