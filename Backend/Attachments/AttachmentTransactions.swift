import PowerSyncPostgres
import PowerSyncWire

/// Who asks: what policies of the database see, and the subject that rows belong to.
package struct AttachmentCaller: Sendable, Hashable {
    /// The token's subject.
    package let subject: String
    /// The payload that was verified.
    package let claims: String
    /// The role that asks about the app's tables; nil for the first of those that may be taken, if there are any.
    package let role: DatabaseRole?

    /// Makes a caller of who has signed in.
    init(_ principal: Principal) {
        self.init(
            subject: principal.subject, claims: principal.claims.text, role: principal.role)
    }

    /// Makes a caller of its fields.
    package init(subject: String, claims: String, role: DatabaseRole? = nil) {
        self.subject = subject
        self.claims = claims
        self.role = role
    }

    /// Nobody: who clears up asks in no one's name.
    static let nobody = AttachmentCaller(subject: "", claims: "{}")
}

/// Runs transactions about attachments as uploads run (backend 2.9): with their settings, in the name of the caller, and with
/// the tables as they are.
struct AttachmentTransactions: Sendable {
    let pool: PostgresPool
    let catalog: CatalogWatch
    let settings: SessionSettings
    let roles: RoleSettings

    /// A transaction, for as long as its body runs.
    struct Transaction: Sendable {
        let connection: PostgresConnection
        let tables: UploadTables
        let access: AttachmentAccess
        /// Whether rows are there that nobody can see now: what they name is neither unknown nor unnamed.
        let lacksRows: Bool
        let caller: AttachmentCaller
        /// The role that asks about the app's tables; nil for who has logged in, who asks about `psb`.
        let role: DatabaseRole?
        let deadline: ContinuousClock.Instant

        /// Asks one of the questions of `access`, as the role; no rows where nobody has to be asked.
        func askRows(_ question: PostgresStatement?) async throws -> PostgresResult? {
            try await ask([question], asRole: [0])[0]
        }

        /// Asks a question about what the backend keeps itself; no rows where nobody has to be asked.
        func ask(_ question: PostgresStatement?) async throws -> PostgresResult? {
            guard let question else { return nil }
            return try await connection.query(question.sql, question.parameters, until: deadline)
        }

        /// Asks several questions in one round trip, one behind the other.
        ///
        /// - Parameters:
        ///   - questions: the questions; nil where nobody has to be asked.
        ///   - places: those of them that are questions of `access`, which the role asks.
        /// - Returns: the answer to each of them, in their order.
        /// - Throws: `PostgresError`, the first that there was, `CancellationError`.
        func ask(
            _ questions: [PostgresStatement?], asRole places: Set<Int> = []
        ) async throws -> [PostgresResult?] {
            var statements: [PostgresStatement] = []
            var answers: [Int?] = []
            for (place, question) in questions.enumerated() {
                answers.append(question == nil ? nil : statements.count)
                guard let question else { continue }
                if let role, places.contains(place) {
                    answers[place] = statements.count + 1
                    statements += [RoleStatements.take(role), question, RoleStatements.release]
                } else {
                    statements.append(question)
                }
            }
            let outcomes = try await connection.pipeline(statements, until: deadline)
            if let error = outcomes.compactMap(\.error).first { throw error }
            return answers.map { $0.flatMap { outcomes[$0].result } }
        }

        /// Asks one of the questions of `access` for a truth.
        func isTrue(_ question: PostgresStatement?) async throws -> Bool {
            try await askRows(question)?.scalar == "t"
        }
    }

    private static let otherTables: Set = [
        BackendSchema.otherCatalog, "42P01", "42703", "42704", "42883", "0A000",
    ]

    private static func mayBeOfOtherTables(_ error: PostgresError) -> Bool {
        guard let state = error.sqlstate else { return false }
        return otherTables.contains(state)
    }

    /// Runs a transaction, again where the catalog has changed meanwhile, and commits it unless `body` throws.
    ///
    /// - Parameters:
    ///   - caller: in whose name.
    ///   - deadline: when all of it is over.
    ///   - body: what is done; must not wait for anything but the connection.
    /// - Returns: what it returns.
    /// - Throws: what it throws, `PostgresError`, `CancellationError`.
    func run<Value: Sendable>(
        as caller: AttachmentCaller, until deadline: ContinuousClock.Instant,
        _ body: @Sendable (Transaction) async throws -> Value
    ) async throws -> Value {
        var knowledge = try await catalog.knowledge()
        while true {
            let begun = ContinuousClock.now
            let tables = knowledge.tables
            do {
                return try await pool.withConnection(until: deadline) { connection in
                    let hidden = try await open(tables, caller, on: connection, until: deadline)
                    let value = try await body(
                        Transaction(
                            connection: connection, tables: tables,
                            access: AttachmentAccess(tables, hidden: hidden),
                            lacksRows: tables.isMissingAttachments || !hidden.isEmpty, caller: caller,
                            role: caller.role ?? roles.first, deadline: deadline))
                    try await connection.query("COMMIT", until: deadline)
                    return value
                }
            } catch let error as PostgresError where Self.mayBeOfOtherTables(error) {
                let newer = try await catalog.look(after: knowledge.number, since: begun, until: deadline)
                // The catalog is not to blame.
                guard newer.number != knowledge.number else { throw error }
                knowledge = newer
            }
        }
    }

    /// Runs statements about what the backend keeps itself, which need no tables of the app, as one transaction with the same
    /// settings: the database's own level might refuse what waited for another.
    func alone<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @Sendable (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        try await pool.withConnection(until: deadline) { connection in
            let outcomes = try await connection.pipeline([Self.begin, settings.statement], until: deadline)
            if let error = outcomes.compactMap(\.error).first { throw error }
            let value = try await body(connection)
            try await connection.query("COMMIT", until: deadline)
            return value
        }
    }

    private static let begin = PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED")

    /// Begins a transaction, unless its user is disabled; which tables would be everybody's, if they did not hide rows since the start.
    private func open(
        _ tables: UploadTables, _ caller: AttachmentCaller, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Set<Catalog.Name> {
        // Rows give rights if their parents do.
        var seen: Set<Catalog.Name> = []
        let catalog = tables.attachmentTables.flatMap { [$0.source] + $0.parents.map(\.source) }
            .filter { seen.insert($0.name).inserted }
        let everybodys = tables.attachmentTables.filter { $0.owner == nil }
        var statements = [
            Self.begin, settings.statement,
            PostgresStatement(
                """
                SELECT psb.open($1::text, $2::text, $3::text[], $4::text[], $5::text[], NULL::text, NULL::bigint,
                    NULL::bigint, NULL::bigint, $6::name)
                """,
                [
                    caller.claims, caller.subject, arrayLiteral(catalog.map(\.name.schema)),
                    arrayLiteral(catalog.map(\.name.table)), arrayLiteral(catalog.map(\.digest)),
                    roles.first?.name,
                ]),
        ]
        var place: Int?
        if let question = HiddenRows.question(everybodys) {
            let role = caller.role ?? roles.first
            if let role { statements.append(RoleStatements.take(role)) }
            place = statements.count
            statements.append(question)
            if role != nil { statements.append(RoleStatements.release) }
        }
        let outcomes = try await connection.pipeline(statements, until: deadline)
        if let error = outcomes.compactMap(\.error).first { throw error }
        return HiddenRows.names(place.flatMap { outcomes[$0].result }, of: everybodys)
    }
}
