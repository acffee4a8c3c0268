import PowerSyncPostgres

/// Finds out whether a value alone is why a statement failed with a state of the SQL parser (backend 3.1).
///
/// The types of full text, labels and paths say of a text that they cannot read what Postgres says of a statement: `a & & b`
/// is 42601 for a tsquery. Which of both it was shows where the value is read by itself, after its type without a value. Names
/// that a value refers to may come later, so their states are not among these.
struct ValueProbe: Sendable {
    private static let states: Set = ["42601", "42602", "42622"]

    private let error: PostgresError
    private let columns: [UploadColumn]
    private let values: [String]

    /// Makes a probe of the values of which only their types know what they may be; nil if there is nothing to find out.
    ///
    /// - Parameters:
    ///   - operation: the operation that failed.
    ///   - error: how.
    init?(_ operation: PlannedOperation, after error: PostgresError) {
        guard error.sqlstate.map(Self.states.contains) == true else { return nil }
        let sent: [(UploadColumn, String?)] =
            [(operation.table.id, operation.id)] + zip(operation.columns, operation.values)
        let unknown = sent.filter { $0.0.kind.isKnownToPostgresAlone && $0.1 != nil }
        guard !unknown.isEmpty else { return nil }
        self.error = error
        columns = unknown.map(\.0)
        values = unknown.compactMap(\.1)
    }

    /// Asks in a transaction of its own.
    ///
    /// - Returns: the error as it is to be understood.
    /// - Throws: `PostgresError`, `CancellationError`.
    func explanation(
        from pool: PostgresPool, _ settings: SessionSettings, until deadline: ContinuousClock.Instant
    ) async throws -> PostgresError {
        let outcomes = try await pool.withConnection(until: deadline) {
            try await $0.pipeline([settings.statement] + statements, until: deadline)
        }
        return outcomes[0].error == nil ? explanation(Array(outcomes.dropFirst())) : error
    }

    /// Asks within the transaction of a piece, behind its savepoint.
    ///
    /// - Returns: the error as it is to be understood.
    /// - Throws: `PostgresError`, `CancellationError`.
    func explanation(
        within connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws -> PostgresError {
        let segments = [statements, [PostgresStatement("ROLLBACK TO SAVEPOINT psb")]]
        return explanation(try await connection.pipeline(segments: segments, until: deadline)[0])
    }

    /// As texts at first: of a parameter that is read as its type the server says in the CONTEXT which one it was.
    private var statements: [PostgresStatement] {
        columns.map { PostgresStatement("SELECT NULL::\($0.type) WHERE false") }
            + zip(columns, values).map {
                PostgresStatement("SELECT \($0.expression("$1::text")) IS NULL", [$1])
            }
    }

    /// What types of other makes say of such a text is 22P02.
    private func explanation(_ outcomes: [PostgresStatementOutcome]) -> PostgresError {
        guard let index = outcomes.firstIndex(where: { $0.error != nil }), index >= columns.count,
            let found = outcomes[index].error, found.sqlstate == error.sqlstate,
            // With a context it was raised by a function of the team that the type calls, such as that of a domain's check.
            found.context == nil
        else { return error }
        return PostgresError(
            .server, found.message, sqlstate: "22P02", column: columns[index - columns.count].name,
            function: found.function)
    }
}
