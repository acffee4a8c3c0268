import PowerSyncPostgres
import PowerSyncStack
import PowerSyncWire

extension StackWorld {
    /// How many rows are compared at a time.
    private static let pageSize = 10_000

    /// Waits until clients and Postgres hold the same rows, and nothing is left to upload.
    ///
    /// Every row is compared, with all its columns, as the tool and libpq tell them.
    ///
    /// - Parameters:
    ///   - clients: the clients.
    ///   - limit: how long to wait.
    /// - Throws: `StackError` with `.deadline`, which says what differs; errors of client and Postgres.
    func converge(_ clients: [MeasuredClient], within limit: Duration = .seconds(120)) async throws {
        var last = "nothing was compared"
        try await Deadline.wait(
            limit, pause: .milliseconds(100), for: "A = B = Postgres", seen: { last }
        ) {
            guard let difference = try await self.difference(clients) else { return () }
            last = difference
            return nil
        }
    }

    /// Says in one line what is not the same; nil if all is.
    private func difference(_ clients: [MeasuredClient]) async throws -> String? {
        for client in clients {
            let count = try await client.ask("crud-count").json["count"]?.int64Value
            guard count == 0 else { return "client \(client.name) has entries left to upload" }
        }
        return try await PostgresConnection.with(database.uri, poller: poller) { connection -> String? in
            for table in StackApp.compared {
                if let difference = try await self.difference(table, connection, clients) {
                    return difference
                }
            }
            return nil
        }
    }

    private func difference(
        _ table: StackApp.ComparedTable, _ connection: PostgresConnection, _ clients: [MeasuredClient]
    ) async throws -> String? {
        var after = ""
        while true {
            let expected = try await Self.page(table, after, of: connection)
            for client in clients {
                let rows = try await Self.page(table, after, of: client)
                guard rows != expected else { continue }
                let pair = zip(rows, expected).first { $0 != $1 }
                let place = pair.map { "the first is \($0.0.text) there and \($0.1.text) here" }
                return "\(table.name) differ at client \(client.name) and in Postgres behind \"\(after)\": "
                    + "\(rows.count) and \(expected.count) rows, \(place ?? "those of both are equal")"
            }
            guard let last = expected.last, expected.count == Self.pageSize else { return nil }
            after = last.id
        }
    }

    private static func page(
        _ table: StackApp.ComparedTable, _ after: String, of connection: PostgresConnection
    ) async throws -> [StackApp.ComparedRow] {
        let result = try await connection.query(
            """
            SELECT id, \(table.inPostgres) FROM \(table.name)
            WHERE id > $1 ORDER BY id LIMIT \(pageSize)
            """, [after], until: .now + MeasuredClient.patience)
        return (0..<result.rowCount).map { row in
            StackApp.ComparedRow(id: result[row, 0] ?? "null", text: result[row, 1] ?? "null")
        }
    }

    private static func page(
        _ table: StackApp.ComparedTable, _ after: String, of client: MeasuredClient
    ) async throws -> [StackApp.ComparedRow] {
        try await client.rows(
            """
            SELECT id, \(table.onDevice) AS text FROM \(table.name)
            WHERE id > ? ORDER BY id LIMIT \(pageSize)
            """, [.string(after)]
        ).map { row in
            StackApp.ComparedRow(
                id: row["id"]?.stringValue ?? "null", text: row["text"]?.stringValue ?? "null")
        }
    }
}
