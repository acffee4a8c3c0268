import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Reads rows with SQL, in UTC.
package actor SQLOracle: ContractOracle {
    private let connection: PostgresConnection
    private let fixtures: ContractFixtures

    /// Connects.
    ///
    /// - Parameters:
    ///   - uri: The database, with a role that may read the tables.
    ///   - fixtures: What the tables are called.
    ///   - poller: Watches the socket; must outlive the oracle.
    /// - Throws: `PostgresError`.
    package init(uri: String, fixtures: ContractFixtures, poller: Poller) async throws {
        connection = try await PostgresConnection.connect(
            uri, parameters: ["options": "-c TimeZone=UTC -c DateStyle=ISO"], poller: poller)
        self.fixtures = fixtures
    }

    /// Closes the connection.
    package func close() async { await connection.close() }

    /// Reads a row.
    package func row(_ table: String, _ id: String) async throws -> [String: JSON]? {
        guard let names = fixtures.tables[table] else {
            throw ContractError(.unknownName, "the fixtures have no table \(table)")
        }
        // By its text, so that an id of any type can be asked for.
        let result = try await connection.query(
            "SELECT row_to_json(t)::text FROM \(names.relation) AS t WHERE t.\(quoteIdentifier(names.id))::text = $1",
            [id])
        guard result.rowCount < 2 else { throw ContractError(.oracle, "\(table) has two rows of one id") }
        guard let text = result.scalar else { return nil }
        let logical = Dictionary(names.columns.map { ($1, $0) }) { $1 }
        let sent = Dictionary(names.stored.map { ($1, $0) }) { $1 }
        var row: [String: JSON] = [:]
        for member in try JSON.parse(text, limits: JSONLimits(numberBytes: .max)).objectMembers ?? [] {
            let client = sent[member.name] ?? member.name
            row[logical[client] ?? client] = member.value
        }
        return row
    }

    /// Counts dead letters.
    package func letters(of user: String) async throws -> Int? {
        guard let question = fixtures.letters else { return nil }
        return try await connection.query(question, [user]).scalar.flatMap { Int($0) }
    }
}
