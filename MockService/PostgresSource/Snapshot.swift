import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncWire

/// Reads whole tables into the state, in batches of about a megabyte (service 7.3).
///
/// Along a key of one column it can be interrupted and goes on where it was, and no statement sorts more than a piece of
/// the table; other tables start over, which changes nothing for rows that are known already. What is read is written while
/// more is read; each piece goes the same way, so that its position follows its rows.
struct Snapshot {
    let connection: PostgresConnection
    let store: ServiceStore
    let context: EvaluationContext
    let intake: Intake
    let health: ServiceHealth.Link
    let links: LinkMemory
    let times: LinkTimes
    let warnings: RowWarningLog
    let warn: @Sendable (String) -> Void
    /// Is called when a table has brought a piece behind which there may be more.
    var hasFullPiece: @Sendable () -> Void = {}

    /// Reads a table to its end and notes that.
    ///
    /// - Parameters:
    ///   - published: The table as the source has it.
    ///   - table: Its record.
    ///   - types: The types of now.
    ///   - isToldAgain: Whether what the stream tells of transactions that are seen now is applied all the same
    ///     (service 4.8). Else all of it is skipped: some may be in no stream, or be told under a name that is over.
    /// - Returns: The table with the layout that its rows are of, all of which are on the disk.
    /// - Throws: `PostgresError`, `SQLiteError`.
    @discardableResult
    func read(
        _ published: SourceCatalog.PublishedTable, as table: SourceTable, _ types: TypeCatalog,
        isToldAgain: Bool = false
    ) async throws -> SourceTable {
        let catalog = SourceCatalog(connection)
        let seen = try await catalog.seenTransactions()
        let position = try await SourceCatalog.position(connection)
        var table = table.described(by: published.description, types)
        // If rows are identified by fields, those that are told can be over: then it cannot be said which row is meant.
        let isApplied = isToldAgain && !table.hasFieldsInIdentity
        let columns = published.description.columns
        // Rows that nothing identifies would come twice: all of them are read at once, or again.
        let isBeginning = !columns.contains(where: \.isIdentity)
        table = try await store.note(
            seen, of: table, until: isApplied ? .zero : position, isBeginning: isBeginning)
        if isBeginning {
            try await intake.submit(
                ChangeBatch(.truncate(0), tables: [TablePlan(table)], isAhead: true))
        }
        if published.hidesRows {
            warn(SourceCatalog.PublishedTable.hidesRowsText(table.qualifiedName))
        }
        let key = columns.count(where: \.isIdentity) == 1 ? columns.first(where: \.isIdentity)?.name : nil
        let isKey = key.map(ExactText.init) == published.key.map(ExactText.init)
        var piece = Piece(table: table, key: isKey ? key : nil, limit: store.limits.pieceRows)
        while true {
            try await read(&piece, of: published)
            guard piece.isFull else { break }
            hasFullPiece()
        }
        var done = piece.table
        done.isSnapshotDone = true
        done.snapshotKey = nil
        try await intake.submit(ChangeBatch(.readWhole(0), tables: [TablePlan(done)]))
        _ = try await intake.drain()
        links.note { $0.reading.arrived() }
        warnings.tellDue(isEnd: true)
        return done
    }

    /// What one statement reads.
    private struct Piece {
        /// The table as it was then, and up to where it has been read.
        var table: SourceTable
        /// The column along which rows come, from which reading can go on; nil if there is none.
        let key: String?
        /// Rows that one statement reads along the key.
        let limit: Int
        var count = 0

        /// Whether there may be more.
        var isFull: Bool { key != nil && count == limit }

        /// The statement.
        func select(from table: SourceCatalog.PublishedTable) -> String {
            let names = table.description.columns.map { quoteIdentifier($0.name) }.joined(separator: ", ")
            let key = key.map { quoteIdentifier($0) }
            var conditions = table.filter.map { ["(\($0))"] } ?? []
            if let key, let last = self.table.snapshotKey {
                conditions.append("\(key) > \(quoteLiteral(last))")
            }
            return "SELECT \(names) FROM ONLY \(table.name)"
                + (conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND "))
                + (key.map { " ORDER BY \($0) LIMIT \(limit)" } ?? "")
        }
    }

    /// Reads the next piece of a table.
    ///
    /// - Parameters:
    ///   - piece: The piece before.
    ///   - published: The table as it was found.
    /// - Throws: `PostgresError`, `SQLiteError`; `ReplicationError` if the table was altered, which is then read again.
    private func read(_ piece: inout Piece, of published: SourceCatalog.PublishedTable) async throws {
        let patience = links.now.reading.current
        await connection.setPatience(patience)
        do {
            try await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
            // A statement looks at the database before it waits for the lock of its table, and finds that empty if it was
            // rewritten meanwhile (manual 13.6). LOCK TABLE needs rights on all columns.
            try await connection.query("SELECT FROM ONLY \(published.name) WHERE false")
            let now = try await lookAgain(at: published, for: &piece.table)
            try await copy(&piece, of: now, patience)
            try await connection.query("COMMIT")
        } catch {
            if (error as? PostgresError)?.code == .timedOut { links.note { $0.reading.wasSilent() } }
            throw error
        }
        await connection.setPatience(times.statement)
        // A source that is set back shows by this, and a crash of it takes nothing of this away.
        let position = try await SourceCatalog(connection).safePosition()
        try await intake.submit(ChangeBatch(.hold(until: position, isAhead: true, isSnapshotDone: false)))
    }

    /// A table as it is behind its lock: columns and fields can change while a large one is read.
    private func lookAgain(
        at published: SourceCatalog.PublishedTable, for table: inout SourceTable
    ) async throws -> SourceCatalog.PublishedTable {
        let catalog = SourceCatalog(connection)
        let types = try await catalog.types()
        guard let now = try await catalog.table(oid: published.description.oid),
            now.membership == published.membership, now.key == published.key,
            now.description.isSameTable(as: published.description)
        else {
            throw ReplicationError(
                .alteredTable, "The table \(table.qualifiedName) was altered while it was read.")
        }
        table = table.described(by: now.description, types)
        // Before the rows: those of a layout that comes between are then of one that is over.
        if let layout = try await catalog.layout(oid: now.description.oid, types) {
            table = try await store.note(layout, of: table)
        }
        return now
    }

    /// Reads the rows of a piece.
    private func copy(
        _ piece: inout Piece, of published: SourceCatalog.PublishedTable, _ patience: Duration
    ) async throws {
        let key = piece.key.flatMap { key in
            published.description.columns.firstIndex { ExactText($0.name) == ExactText(key) }
        }
        let plan = try await store.plan(piece.table, context, isRead: true)
        let read = Lock((decoder: CopyDecoder(plan, key: key), count: 0, last: String?.none))
        let limits = PostgresFrames.Limits(
            bytes: plan.isMultiplied ? store.limits.multipliedBytes : store.limits.batchBytes,
            count: store.limits.batchChanges)
        try await connection.copyOutFrames(
            "COPY (\(piece.select(from: published))) TO STDOUT", limits: limits
        ) { rows in
            let batch = read.withLock { read in
                read.count += rows.count
                let batch = read.decoder.batch(&rows)
                for case (_, .readUpTo(_, let key)) in batch.marks { read.last = key }
                return batch
            }
            try await intake.submit(batch)
            health.step(before: patience)
        }
        let (count, last) = read.withLock { ($0.count, $0.last) }
        piece.count = count
        piece.table.snapshotKey = last ?? piece.table.snapshotKey
    }
}

extension SourceCatalog.PublishedTable {
    /// The name in SQL.
    fileprivate var name: String { quoteIdentifier(description.schema, description.name) }
}
