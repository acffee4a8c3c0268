/// The rows of one table of attachments; each change is one transaction, which reads what it decides about.
struct AttachmentRows: Sendable {
    let db: any PowerSyncDatabaseProtocol
    let sql: AttachmentSQL
    let environment: SyncEnvironment

    /// The time of the clock in milliseconds since 1970.
    private var now: Int { Int(environment.now() / 1000) }

    // MARK: Reading

    /// Reads with one statement.
    func all(_ statement: String) async throws -> [Attachment] {
        try await db.getAll(sql: statement, parameters: []) { try Attachment.fromCursor($0) }
    }

    /// Returns a row; nil if there is none.
    func row(_ id: String) async throws -> Attachment? {
        try await db.readLock { [sql] in try sql.row(id, on: $0) }
    }

    /// Returns the next rows of a lane; see ``AttachmentSQL/page(of:behind:limit:on:)``.
    func page(of lane: TransferLane, behind place: TransferPlace?, limit: Int) async throws -> [TransferRow] {
        try await db.readLock { [sql] in try sql.page(of: lane, behind: place, limit: limit, on: $0) }
    }

    /// Returns rows in the order of their ids; see ``AttachmentSQL/rows(behind:where:limit:on:)``.
    func rows(behind id: String?, where condition: String? = nil, limit: Int) async throws -> [Attachment] {
        try await db.readLock { [sql] in
            try sql.rows(behind: id, where: condition, limit: limit, on: $0)
        }
    }

    /// Whether something waits to be uploaded to the backend.
    func hasQueuedWrites() async throws -> Bool {
        try await db.get(AttachmentSQL.hasQueuedWrites) { try $0.getBoolean(index: 0) }
    }

    /// Returns an id that nobody has.
    func newID() async throws -> String {
        try await db.get("SELECT uuid()") { try $0.getString(index: 0) }
    }

    // MARK: Writing

    /// Runs a callback in a transaction, with the time of what it saves.
    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (_ connection: any Transaction, _ now: Int) throws -> Result
    ) async throws -> Result {
        let now = now
        return try await db.writeTransaction { try body($0, now) }
    }

    /// Decides about a row, and writes that.
    ///
    /// - Parameters:
    ///   - id: the id of the row.
    ///   - rule: decides; called in the transaction, if there is a row.
    /// - Returns: what becomes of the row, and the row as it is then; nil if it is gone.
    /// - Throws: what the database and the rule throw; nothing is written then.
    @discardableResult
    func change(
        _ id: String, _ rule: @escaping @Sendable (Attachment) throws -> AttachmentChange
    ) async throws -> ChangedRow {
        try await transaction { [sql] connection, now in
            guard let row = try sql.row(id, on: connection) else {
                return ChangedRow(change: .unchanged, row: nil)
            }
            let change = try rule(row)
            return ChangedRow(
                change: change, row: try sql.apply(change, to: row, at: now, on: connection))
        }
    }

    /// Decides about rows, and writes that, in one transaction.
    func change(
        _ ids: [String], _ rule: @escaping @Sendable (Attachment) throws -> AttachmentChange
    ) async throws {
        guard !ids.isEmpty else { return }
        try await transaction { [sql] connection, now in
            for id in ids {
                guard let row = try sql.row(id, on: connection) else { continue }
                _ = try sql.apply(try rule(row), to: row, at: now, on: connection)
            }
        }
    }

    /// Saves rows in one transaction, all with one time.
    ///
    /// - Parameter attachments: the rows; one that is there is replaced.
    /// - Returns: the rows with their time.
    /// - Throws: what the database throws.
    func save(_ attachments: [Attachment]) async throws -> [Attachment] {
        try await transaction { [sql] connection, now in
            let stamp = try sql.stamp(at: now, on: connection)
            let saved = attachments.map { $0.saved(at: stamp) }
            for row in saved { try sql.write(row, on: connection) }
            return saved
        }
    }

    /// Adds a row, in one transaction with what the app writes.
    ///
    /// - Parameters:
    ///   - attachment: the row.
    ///   - hook: writes what the app wants to; called first.
    /// - Returns: the row with its time.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` if the id is taken, what the database and the hook
    ///   throw.
    func add(
        _ attachment: Attachment,
        _ hook: @escaping @Sendable (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await transaction { [sql] connection, now in
            guard try sql.row(attachment.id, on: connection) == nil else {
                throw PowerSyncAttachmentError.generalError(
                    "There is an attachment with id \(attachment.id) already, and its file never changes.")
            }
            let added = attachment.saved(at: try sql.stamp(at: now, on: connection))
            try hook(connection, added)
            try sql.write(added, on: connection)
            return added
        }
    }

    /// Has a row deleted, in one transaction with what the app writes.
    ///
    /// - Parameters:
    ///   - id: the id of the row.
    ///   - hook: writes what the app wants to; called first, with the row as it was.
    /// - Returns: the row as it is then.
    /// - Throws: ``PowerSyncAttachmentError/notFound(_:)``, what the database and the hook throw.
    func delete(
        _ id: String, _ hook: @escaping @Sendable (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await transaction { [sql] connection, now in
            guard let row = try sql.row(id, on: connection) else {
                throw PowerSyncAttachmentError.notFound("Attachment record with id \(id) was not found.")
            }
            try hook(connection, row)
            let change = AttachmentRules.deleted(row)
            return try sql.apply(change, to: row, at: now, on: connection) ?? row
        }
    }
}

/// What became of a row.
struct ChangedRow: Sendable {
    let change: AttachmentChange
    /// The row as it is then; nil if it is gone, or was not there.
    let row: Attachment?
}

extension SyncEnvironment {
    /// The clock of a database; that of the system where the database has none of its own.
    static func of(_ db: any PowerSyncDatabaseProtocol) -> SyncEnvironment {
        (db as? LocalDatabase)?.environment ?? .system()
    }
}
