import PowerSyncSQLite
import PowerSyncWire

/// Writes rows of `powersync_crud` to the upload queue (client-core 2.7), byte by byte.
///
/// Its statements stay prepared and its buffer allocated. While it writes, a trigger of the app may write to another
/// view, so one that is at work must not be used again before it returns.
final class CrudEntryWriter {
    private unowned let connection: SQLiteConnection
    private let queue: SQLiteStatement
    private var mark: SQLiteStatement?
    private var entry: [UInt8] = []

    /// Prepares what every write needs.
    ///
    /// - Throws: SQLite's error.
    init(on connection: SQLiteConnection) throws(SQLiteError) {
        self.connection = connection
        queue = try connection.prepare("INSERT INTO ps_crud(tx_id, data) VALUES (?, ?)")
    }

    /// Queues the entry of a row and marks the row for the next apply.
    ///
    /// - Parameters:
    ///   - row: op, id, type, data, old values, metadata.
    ///   - transactionID: the id of the open transaction.
    /// - Throws: SQLite's error.
    func write(_ row: SQLiteInsertedRow, transactionID: Int64) throws(SQLiteError) {
        entry.removeAll(keepingCapacity: true)
        append(#"{"op":"#)
        appendText(row, 0)
        append(#","id":"#)
        appendText(row, 1)
        append(#","type":"#)
        appendText(row, 2)
        if row.isText(3) { appendJSON(#","data":"#, row, 3) }
        if row.isText(4) { appendJSON(#","old":"#, row, 4) }
        if row.isText(5) {
            append(#","metadata":"#)
            appendText(row, 5)
        }
        entry.append(UInt8(ascii: "}"))
        try entry.withUnsafeBufferPointer { bytes throws(SQLiteError) in
            try write(bytes, transactionID: transactionID)
        }
        try markRow(row)
    }

    /// Queues an entry.
    ///
    /// - Parameters:
    ///   - entry: its JSON.
    ///   - transactionID: the id of the open transaction.
    /// - Throws: SQLite's error.
    func write(_ entry: UnsafeBufferPointer<UInt8>, transactionID: Int64) throws(SQLiteError) {
        try queue.bind(transactionID, at: 1)
        try queue.bind(uncopied: entry, at: 2)
        try queue.runBound()
    }

    private func markRow(_ row: SQLiteInsertedRow) throws(SQLiteError) {
        let mark = try markStatement()
        guard row.isText(1), row.isText(2) else {
            return try mark.run([SQLiteValue(Self.text(row[2])), SQLiteValue(Self.text(row[1]))])
        }
        try row.withText(1) { id throws(SQLiteError) in
            try row.withText(2) { type throws(SQLiteError) in
                guard let id, let type else { return }
                try mark.bind(uncopied: type, at: 1)
                try mark.bind(uncopied: id, at: 2)
                try mark.runBound()
            }
        }
    }

    /// Prepared late: files before version 5 lack the table, and their triggers do not need it.
    private func markStatement() throws(SQLiteError) -> SQLiteStatement {
        if let mark { return mark }
        let prepared = try connection.prepare(
            "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?, ?)")
        mark = prepared
        return prepared
    }

    private func append(_ text: StaticString) {
        entry.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a value as a JSON string.
    private func appendText(_ row: SQLiteInsertedRow, _ column: Int) {
        if row.isText(column) {
            row.withText(column) { text in
                if let text { JSON.appendQuoted(text, to: &entry) }
            }
        } else if let text = Self.text(row[column]) {
            JSON.appendQuoted(text, to: &entry)
        } else {
            append("null")
        }
    }

    private func appendJSON(_ name: StaticString, _ row: SQLiteInsertedRow, _ column: Int) {
        append(name)
        row.withText(column) { json in
            if let json { entry.append(contentsOf: json) }
        }
    }

    /// Returns a value as text: a virtual table gets numbers as they are, whatever its columns declare.
    static func text(_ value: SQLiteValue) -> String? {
        switch value {
        case .text(let text): text
        case .integer(let integer): String(integer)
        case .real(let double): RowDiff.spelling(of: double)
        case .null, .blob: nil
        }
    }
}
