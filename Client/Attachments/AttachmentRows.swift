import PowerSyncWire

/// The rows of one table of attachments; each change is one transaction, which reads what it decides about.
struct AttachmentRows: Sendable {
    let db: any PowerSyncDatabaseProtocol
    let sql: AttachmentSQL
    let environment: SyncEnvironment

    /// The time of the clock in milliseconds since 1970.
    private var now: Int { Int(environment.now() / 1000) }

    /// Returns when what was committed is on the disk; SQLite waits for that only now and then (synchronous = NORMAL).
    ///
    /// Of a database on the app's own pool, or of another making, nobody knows where that is, and nothing is done.
    ///
    /// - Throws: `PowerSyncAttachmentError` with `ioError`.
    func sync() throws {
        guard let path = (db as? LocalDatabase)?.group.files?.path else { return }
        do {
            try LocalFile(path + "-wal").sync()
        } catch PowerSyncAttachmentError.fileNotFound {
            // It was taken into the database, which is on the disk before the log goes.
        }
    }

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

    /// Returns archived rows behind the newest ones, at most so many.
    func overflow(keeping count: Int64, limit: Int) async throws -> [Attachment] {
        try await db.getAll(sql: sql.overflow, parameters: [count, limit]) { try Attachment.fromCursor($0) }
    }

    /// Returns how many rows wait in each of the three queued states.
    func waiting() async throws -> [WaitingFiles] {
        try await db.getAll(sql.waiting) {
            WaitingFiles(
                state: try $0.getInt(index: 0), files: try $0.getInt(index: 1),
                bytes: try $0.getInt64(index: 2))
        }
    }

    /// Whether something waits to be uploaded to the backend.
    func hasQueuedWrites() async throws -> Bool {
        try await db.readLock { [sql] in try sql.hasWritesQueued(on: $0) }
    }

    /// Refuses an id, or a filename, that a row has; see ``AttachmentSQL/checkFree(_:_:on:)``.
    func checkFree(_ id: String, _ filename: String) async throws {
        try await db.readLock { [sql] in try sql.checkFree(id, filename, on: $0) }
    }

    /// Whether another row than that of an id has a filename.
    func isShared(_ filename: String, besides id: String) async throws -> Bool {
        try await db.readLock { [sql] in try sql.isShared(filename, besides: id, on: $0) }
    }

    /// Whether another row than that of an id needs the file of a filename.
    ///
    /// - Parameters:
    ///   - filename: the filename.
    ///   - id: the id.
    ///   - gone: the ids of rows that go, and need it no more, as those that are to be deleted.
    /// - Returns: whether one does.
    /// - Throws: what the database throws.
    func needsFile(_ filename: String, besides id: String, and gone: [String]) async throws -> Bool {
        let others = try await db.readLock { [sql] in try sql.rows(needing: filename, besides: id, on: $0) }
        return others.contains { other in !gone.contains { ExactText($0) == ExactText(other) } }
    }

    /// Whether another row than that of an id has a path of which a closure is true.
    func hasPath(
        besides id: String, where isMeant: @escaping @Sendable (String) -> Bool
    ) async throws -> Bool {
        try await db.readLock { [sql] in try sql.hasPath(besides: id, where: isMeant, on: $0) }
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

    /// Takes the paths of archived rows whose files are about to be removed, in one transaction.
    ///
    /// - Parameter rows: the rows as they were read.
    /// - Returns: those that are archived still, with their paths.
    /// - Throws: what the database throws.
    func takePaths(of rows: [Attachment]) async throws -> [Attachment] {
        guard !rows.isEmpty else { return [] }
        return try await transaction { [sql] connection, now in
            var taken: [Attachment] = []
            for id in rows.map(\.id) {
                guard let row = try sql.row(id, on: connection), row.state == .archived else { continue }
                taken.append(row)
                _ = try sql.apply(AttachmentRules.expiring(row), to: row, at: now, on: connection)
            }
            return taken
        }
    }

    /// Gives rows back the paths that were taken.
    func returnPaths(of rows: [Attachment]) async throws {
        let paths = Dictionary(
            rows.compactMap { row in row.localUri.map { (row.id, $0) } }, uniquingKeysWith: { $1 })
        try await change(paths.keys.sorted()) { row in
            paths[row.id].map { AttachmentRules.kept(row, at: $0) } ?? .unchanged
        }
    }

    /// Saves rows in one transaction, each a moment behind the one before.
    ///
    /// - Parameter attachments: the rows; one that is there is replaced.
    /// - Returns: the rows with their times.
    /// - Throws: what the database throws.
    func save(_ attachments: [Attachment]) async throws -> [Attachment] {
        try await transaction { [sql] connection, now in
            var stamp = try sql.stamp(at: now, on: connection)
            var saved: [Attachment] = []
            for attachment in attachments {
                saved.append(attachment.saved(at: stamp))
                try sql.write(attachment.saved(at: stamp), on: connection)
                stamp = AttachmentSQL.stamp(behind: stamp)
            }
            return saved
        }
    }

    /// Adds a row, in one transaction with what the app writes.
    ///
    /// - Parameters:
    ///   - attachment: the row.
    ///   - hook: writes what the app wants to; called first.
    /// - Returns: the row with its time.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` if the id or the filename is taken, what the database
    ///   and the hook throw.
    func add(
        _ attachment: Attachment,
        _ hook: @escaping @Sendable (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await transaction { [sql] connection, now in
            try sql.checkFree(attachment.id, attachment.filename, on: connection)
            let added = attachment.saved(at: try sql.stamp(at: now, on: connection))
            try hook(connection, added)
            try sql.write(added, on: connection)
            return added
        }
    }

    /// Removes all rows.
    ///
    /// - Parameter last: called in the transaction, behind that.
    /// - Returns: what it returns.
    /// - Throws: what the database throws; whether anything was written is not known then.
    func clear<Result: Sendable>(_ last: @escaping @Sendable () -> Result) async throws -> Result {
        try await transaction { [sql] connection, _ in
            try sql.clear(on: connection)
            return last()
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
