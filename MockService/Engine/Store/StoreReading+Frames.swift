import PowerSyncSQLite

extension StoreReading {
    /// Reads the operations of one bucket that fit into one line (service 3.4).
    ///
    /// - Parameters:
    ///   - request: Which operations, and how many.
    ///   - connection: One that reads, without a transaction.
    /// - Returns: The operations; nil if there are none.
    /// - Throws: `SQLiteError`; `StoreError` if a segment cannot be read, or an operation has a number without a name.
    package static func frame(_ request: FrameRequest, _ connection: SQLiteConnection) throws -> Frame? {
        // Names and segments are of one moment, or a table that was removed meanwhile would have no uuid.
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        var names = FrameNames()
        var builder = FrameBuilder(request)
        try forEachOperation(of: request.bucket, after: request.after, upTo: request.last, connection) {
            entry, segment in
            guard builder.append(entry, of: segment) else { return false }
            try names.read(entry.record, connection)
            return !builder.isFull
        }
        return builder.finish(names)
    }
}

extension FrameNames {
    /// Reads the names of an operation that are not known yet.
    ///
    /// - Parameters:
    ///   - record: The operation.
    ///   - connection: Any one of the file.
    /// - Throws: `SQLiteError`; `StoreError` if one of its numbers has no name.
    mutating func read(_ record: OperationRecord, _ connection: SQLiteConnection) throws {
        switch record.content {
        case .put(let row, _), .remove(let row): try read(row, connection)
        case .move, .clear: break
        }
    }

    private mutating func read(_ row: OperationRecord.Row, _ connection: SQLiteConnection) throws {
        if tables[row.sourceTable] == nil {
            let sql = "SELECT uuid FROM source_table WHERE id = ?"
            tables[row.sourceTable] = try Self.name(row.sourceTable, sql, connection)
        }
        if types[row.outputType] == nil {
            let sql = "SELECT name FROM output_type WHERE id = ?"
            types[row.outputType] = try Self.name(row.outputType, sql, connection)
        }
    }

    private static func name(_ id: Int64, _ sql: String, _ connection: SQLiteConnection) throws -> String {
        guard let name = try connection.one(sql, [.integer(id)], { $0.string(0) }) else {
            throw StoreError.unreadableRow
        }
        return name
    }
}
