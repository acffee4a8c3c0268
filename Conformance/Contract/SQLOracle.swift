import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Reads rows with SQL, in UTC; several cases may ask at once.
package struct SQLOracle: ContractOracle {
    private let pool: PostgresPool
    private let fixtures: ContractFixtures

    /// Makes an oracle that connects when it is asked.
    ///
    /// - Parameters:
    ///   - uri: The database, with a role that may read the tables.
    ///   - fixtures: What the tables are called.
    ///   - poller: Watches the sockets; must outlive the oracle.
    package init(uri: String, fixtures: ContractFixtures, poller: Poller) {
        pool = PostgresPool(
            uri: uri,
            limits: PostgresPool.Limits(
                size: 2, waiting: 1_000, acquireTimeout: .seconds(300), connectTimeout: .seconds(60)),
            parameters: ["options": "-c TimeZone=UTC -c DateStyle=ISO"], poller: poller)
        self.fixtures = fixtures
    }

    /// Closes the connections.
    package func close() async { await pool.close() }

    /// Reads a row.
    package func row(_ table: String, _ id: String) async throws -> [String: JSON]? {
        guard let names = fixtures.tables[table] else {
            throw ContractError(.unknownName, "the fixtures have no table \(table)")
        }
        // By its text, so that an id of any type can be asked for.
        let question =
            "SELECT row_to_json(t)::text FROM \(names.relation) AS t"
            + " WHERE t.\(quoteIdentifier(names.id))::text = $1"
        let result = try await pool.withConnection { try await $0.query(question, [id]) }
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
        return try await pool.withConnection { try await $0.query(question, [user]) }
            .scalar.flatMap { Int($0) }
    }
}
