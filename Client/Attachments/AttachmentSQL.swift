import PowerSyncWire

/// The SQL of one table of attachments, on a connection that somebody has.
struct AttachmentSQL: Sendable {
    /// The name of the table.
    let name: String

    /// The name as it stands in statements.
    var table: String { SQLText.identifier(name) }

    static let queued = [AttachmentState.queuedDownload, .queuedUpload, .queuedDelete]
        .map { String($0.rawValue) }.joined(separator: ", ")

    private static let columns = """
        id, timestamp, state, filename, has_synced, local_uri, media_type, size, meta_data
        """

    private var select: String { "SELECT \(Self.columns) FROM \(table)" }

    // MARK: Reading

    /// Returns a row; nil if there is none.
    func row(_ id: String, on connection: any ConnectionContext) throws -> Attachment? {
        try connection.getOptional(sql: "\(select) WHERE id = ?", parameters: [id]) {
            try Attachment.fromCursor($0)
        }
    }

    /// The statement for all rows, the oldest first.
    var all: String { "\(select) ORDER BY timestamp, id" }

    /// The statement for the rows in one of the three queued states, the oldest first.
    var active: String { "\(select) WHERE state IN (\(Self.queued)) ORDER BY timestamp, id" }

    /// The statement for the ids of those rows.
    var activeIDs: String { "SELECT id FROM \(table) WHERE state IN (\(Self.queued)) ORDER BY timestamp, id" }

    /// The statement for archived rows, the oldest first.
    var archived: String {
        "\(select) WHERE state = \(AttachmentState.archived.rawValue) ORDER BY timestamp, id"
    }

    /// The statement for archived rows behind as many of the newest as its first parameter says, at most as many as the
    /// second one says.
    var overflow: String {
        """
        \(select) WHERE state = \(AttachmentState.archived.rawValue)
        ORDER BY timestamp DESC, id DESC LIMIT ?2 OFFSET ?1
        """
    }

    /// The statement whose tables are those that tell when rows have changed; it costs next to nothing.
    var changes: String { "SELECT 1 FROM \(table) LIMIT 1" }

    /// The statement for state, number and bytes of the rows in each queued state.
    var waiting: String {
        """
        SELECT state, count(*), coalesce(sum(size), 0) FROM \(table)
        WHERE state IN (\(Self.queued)) GROUP BY state
        """
    }

    /// The statement for whether a row is in the state that is its parameter.
    var hasWaiting: String { "SELECT EXISTS (SELECT 1 FROM \(table) WHERE state = ?)" }

    /// The statement for the last row of a lane in its order; its parameter is the state of the lane.
    var last: String {
        "SELECT id, timestamp FROM \(table) WHERE state = ? ORDER BY timestamp DESC, id DESC LIMIT 1"
    }

    /// The statement for ids and states of the rows whose ids its parameter has as an array in JSON.
    var states: String { "SELECT id, state FROM \(table) WHERE id IN (SELECT value FROM json_each(?))" }

    /// The statement for whether something waits to be uploaded to the backend.
    static let hasQueuedWrites = "SELECT EXISTS (SELECT 1 FROM ps_crud)"

    /// The statement for the next rows of a lane, the first ones or those behind a place.
    func page(isFirst: Bool) -> String {
        // An index finds where to begin by the time alone.
        let rest = isFirst ? "" : "AND timestamp >= ?3 AND (timestamp, id) > (?3, ?4) "
        return "SELECT id, timestamp FROM \(table) WHERE state = ?1 \(rest)ORDER BY timestamp, id LIMIT ?2"
    }

    /// Returns the next rows of a lane.
    ///
    /// - Parameters:
    ///   - lane: the lane.
    ///   - place: behind which place; nil for the first rows.
    ///   - limit: how many at most.
    ///   - connection: where to read them.
    /// - Returns: the rows in their order.
    /// - Throws: what the connection throws.
    func page(
        of lane: TransferLane, behind place: TransferPlace?, limit: Int, on connection: any ConnectionContext
    ) throws -> [TransferRow] {
        var parameters: [(any Sendable)?] = [lane.state.rawValue, limit]
        if let place {
            parameters.append(place.timestamp)
            parameters.append(place.id)
        }
        return try connection.getAll(
            sql: page(isFirst: place == nil), parameters: parameters
        ) {
            TransferRow(id: try $0.getString(index: 0), timestamp: try $0.getInt(index: 1), lane: lane)
        }
    }

    /// Returns rows in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: behind which id; nil for the first rows.
    ///   - condition: which rows; nil for all.
    ///   - limit: how many at most.
    ///   - connection: where to read them.
    /// - Returns: the rows.
    /// - Throws: what the connection throws.
    func rows(
        behind id: String?, where condition: String? = nil, limit: Int, on connection: any ConnectionContext
    ) throws -> [Attachment] {
        let conditions = ["id > ?2", condition.map { "(\($0))" }].compactMap { $0 }
        return try connection.getAll(
            sql: "\(select) WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?1",
            parameters: [limit, id ?? ""]
        ) { try Attachment.fromCursor($0) }
    }

    /// The condition for rows of which a path is known, or should be.
    static let withPath = "local_uri <> '' OR state = \(AttachmentState.synced.rawValue)"

    /// Whether a row has one of two filenames, or a path.
    func names(
        _ filenames: (String, String), path: String?, in states: [AttachmentState]? = nil,
        on connection: any ConnectionContext
    ) throws -> Bool {
        let states = (states ?? []).map { String($0.rawValue) }.joined(separator: ", ")
        let condition = states.isEmpty ? "" : " AND state IN (\(states))"
        return try connection.getOptional(
            sql: """
                SELECT 1 FROM \(table) WHERE (filename IN (?1, ?2) OR local_uri = ?3)\(condition) LIMIT 1
                """,
            parameters: [filenames.0, filenames.1, path]
        ) { _ in true } != nil
    }

    /// Refuses an id, or a filename, that a row has: both are bound to one file.
    ///
    /// - Parameters:
    ///   - id: the id.
    ///   - filename: the filename.
    ///   - connection: where to look.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)``, what the connection throws.
    func checkFree(_ id: String, _ filename: String, on connection: any ConnectionContext) throws {
        guard try row(id, on: connection) == nil else {
            throw PowerSyncAttachmentError.generalError(
                "There is an attachment with id \(id) already, and its file never changes.")
        }
        guard try !isShared(filename, besides: id, on: connection) else {
            throw PowerSyncAttachmentError.generalError(
                "There is an attachment with a file named \(filename) already, which never changes.")
        }
    }

    /// Whether no row waits for a lane.
    func isEmpty(_ lane: TransferLane, on connection: any ConnectionContext) throws -> Bool {
        try connection.get(sql: hasWaiting, parameters: [lane.state.rawValue]) {
            try $0.getInt(index: 0) == 0
        }
    }

    /// Whether something waits to be uploaded to the backend.
    func hasWritesQueued(on connection: any ConnectionContext) throws -> Bool {
        try connection.get(sql: Self.hasQueuedWrites, parameters: []) { try $0.getBoolean(index: 0) }
    }

    /// Whether another row than that of an id has a filename.
    func isShared(
        _ filename: String, besides id: String, on connection: any ConnectionContext
    ) throws -> Bool {
        try connection.getOptional(
            sql: "SELECT 1 FROM \(table) WHERE filename = ? AND id <> ? LIMIT 1", parameters: [filename, id]
        ) { _ in true } != nil
    }

    /// Returns the ids of other rows than that of an id that need the file of a filename; one that is to be deleted needs none.
    func rows(
        needing filename: String, besides id: String, on connection: any ConnectionContext
    ) throws -> [String] {
        let gone = AttachmentState.queuedDelete.rawValue
        return try connection.getAll(
            sql: "SELECT id FROM \(table) WHERE filename = ? AND id <> ? AND state <> \(gone)",
            parameters: [filename, id]
        ) { try $0.getString(index: 0) }
    }

    /// Whether a row says where its file is.
    func hasPaths(on connection: any ConnectionContext) throws -> Bool {
        try connection.getOptional(
            sql: "SELECT 1 FROM \(table) WHERE local_uri <> '' LIMIT 1", parameters: []
        ) { _ in true } != nil
    }

    /// Whether another row than that of an id has a path of which a closure is true.
    func hasPath(
        besides id: String, where isMeant: @escaping @Sendable (String) -> Bool,
        on connection: any ConnectionContext
    ) throws -> Bool {
        try connection.getAll(
            sql: "SELECT local_uri FROM \(table) WHERE local_uri <> '' AND id <> ?", parameters: [id]
        ) { isMeant(try $0.getString(index: 0)) }.contains(true)
    }

    // MARK: Writing

    /// Returns the time of what is saved now: that of the clock, or a moment behind the newest row if that is later.
    ///
    /// So the order of the times is that of the saves, however the clock was set.
    ///
    /// - Parameters:
    ///   - milliseconds: the time of the clock.
    ///   - connection: where the row will be written.
    /// - Returns: the time in milliseconds since 1970.
    /// - Throws: what the connection throws.
    func stamp(at milliseconds: Int, on connection: any ConnectionContext) throws -> Int {
        let newest = try connection.get(sql: "SELECT max(timestamp) FROM \(table)", parameters: []) {
            $0.getIntOptional(index: 0)
        }
        return newest.map { max(milliseconds, Self.stamp(behind: $0)) } ?? milliseconds
    }

    /// Returns the time of what is saved behind something else; each row has its own, by which an index finds it.
    static func stamp(behind stamp: Int) -> Int {
        // The greatest number there is has none behind it.
        stamp == .max ? stamp : stamp + 1
    }

    /// Writes a row, in place of one that has the id.
    func write(_ row: Attachment, on connection: any ConnectionContext) throws {
        try connection.execute(
            sql: "INSERT OR REPLACE INTO \(table) (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            parameters: [
                row.id, row.timestamp, row.state.rawValue, row.filename, row.hasSynced ?? false,
                row.localUri, row.mediaType, row.size, row.metaData,
            ])
    }

    /// Removes a row.
    func delete(_ id: String, on connection: any ConnectionContext) throws {
        try connection.execute(sql: "DELETE FROM \(table) WHERE id = ?", parameters: [id])
    }

    /// Removes all rows.
    func clear(on connection: any ConnectionContext) throws {
        try connection.execute(sql: "DELETE FROM \(table)", parameters: [])
    }

    /// Writes what becomes of a row; its time is that of before unless it gets another state.
    ///
    /// - Parameters:
    ///   - change: what becomes of it.
    ///   - row: the row as it is.
    ///   - milliseconds: the time of the clock.
    ///   - connection: a connection in a transaction, in which the row was read.
    /// - Returns: the row as it is then; nil if it is gone.
    /// - Throws: what the connection throws.
    func apply(
        _ change: AttachmentChange, to row: Attachment, at milliseconds: Int,
        on connection: any ConnectionContext
    ) throws -> Attachment? {
        if change == .unchanged { return row }
        guard var changed = change.applied(to: row) else {
            try delete(row.id, on: connection)
            return nil
        }
        // Deleted once more it comes behind all others again, so that somebody looks.
        if changed.state != row.state || change == .deleting {
            changed = changed.saved(at: try stamp(at: milliseconds, on: connection))
        }
        try write(changed, on: connection)
        return changed
    }
}
