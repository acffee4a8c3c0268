import PowerSyncWire

/// Group F: many clients at once.
extension SwiftCases {
    static let replayCases: [(String, Body)] = [
        ("116", manyClientsChangeOneRow), ("117", clientsThatCrossAreAnswered),
        ("161", groupingsAtOnceAreDoneOnce),
    ]

    /// Sends transactions of clients that do not wait for one another; each client's come one after the other.
    ///
    /// - Parameters:
    ///   - session: The case.
    ///   - clients: How many clients.
    ///   - transactions: The transactions of a client, by its number.
    /// - Throws: `ContractFailure` for an answer other than 200, and for a transaction that is no success.
    private static func sendAtOnce(
        _ session: ContractSession, clients: Int, _ transactions: @escaping @Sendable (Int) -> [[JSON]]
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask {
                    for transaction in transactions(client) {
                        for answer in try await session.upload([transaction], client: "client\(client)") {
                            try require(answer.status == 200, "client \(client) is answered \(answer.status)")
                            try require(
                                answer.results.allSatisfy { $0 == "success" },
                                "a transaction of client \(client) is \(answer.results), \(answer.errorCodes)"
                            )
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func quantity(_ id: String, _ value: Int) -> JSON {
        operation("PATCH", "inventory", id, [JSONMember("qty", .integer(value))])
    }

    private static func manyClientsChangeOneRow(_ session: ContractSession) async throws -> ContractVerdict {
        let id = try await session.text("${fresh}")
        _ = try await session.upload([[operation("PUT", "inventory", id, [JSONMember("qty", .integer(0))])]])
        try await sendAtOnce(session, clients: 20) { client in
            (0..<50).map { [quantity(id, client * 100 + $0)] }
        }
        // Whoever was last, it was the last of somebody's.
        let found = try await session.row("inventory", id)?["qty"]?.int64Value
        return found.map { $0 % 100 == 49 } ?? false
            ? .passed
            : .unsafe("the row has \(found.map { String($0) } ?? "no number"), which is nobody's last")
    }

    /// Transactions that lock two rows in opposite orders are deadlocks, which the backend tries again.
    private static func clientsThatCrossAreAnswered(_ session: ContractSession) async throws
        -> ContractVerdict
    {
        let (a, b) = (try await session.text("${fresh}"), try await session.text("${fresh}"))
        let missing = try await session.text("${fresh}")
        _ = try await session.upload([
            [a, b].map { operation("PUT", "inventory", $0, [JSONMember("qty", .integer(0))]) }
        ])
        try await sendAtOnce(session, clients: 2) { client in
            (0..<15).map { number in
                // A DELETE of a row that is missing stands between, so that the two are statements of their own.
                let order = client == 0 ? [a, b] : [b, a]
                return [
                    quantity(order[0], number), operation("DELETE", "inventory", missing),
                    quantity(order[1], number),
                ]
            }
        }
        for id in [a, b] {
            let found = try await session.row("inventory", id)?["qty"]
            guard found == .integer(14) else { return .unsafe("\(id) has \(found?.text ?? "gone")") }
        }
        return .passed
    }

    /// A client that gave up waiting sends the same operations in other transactions while the first request is still
    /// at work.
    private static func groupingsAtOnceAreDoneOnce(_ session: ContractSession) async throws -> ContractVerdict
    {
        for round in 0..<10 {
            var operations: [JSON] = []
            var ids: [String] = []
            for number in 1...6 {
                let id = try await session.text("${fresh}")
                ids.append(id)
                let put = operation("PUT", "counted", id, [JSONMember("amount", .integer(number))])
                operations.append(
                    .object([JSONMember("op_id", .integer(number))] + (put.objectMembers ?? [])))
            }
            let whole = [operations]
            let halves = [Array(operations[..<2]), Array(operations[2...])]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for grouping in [whole, halves, whole] {
                    group.addTask {
                        for answer in try await session.upload(grouping, client: "round\(round)") {
                            try require(answer.status == 200, "a grouping is answered \(answer.status)")
                            try require(
                                answer.results.allSatisfy { $0 == "success" },
                                "a grouping is \(answer.results)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            for id in ids {
                let writes = try await session.row("counted", id)?["writes"]
                guard writes == .integer(1) else {
                    return .unsafe("\(id) was written \(writes?.text ?? "never") times")
                }
            }
        }
        return .passed
    }
}
