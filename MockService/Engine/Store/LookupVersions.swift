import PowerSyncSQLite
import PowerSyncWire

/// Writes what keys of lookups find, a version for each change, inside one SQLite transaction (DESIGN.md, 1).
///
/// At a checkpoint a key finds, of each source row, the newest version that the checkpoint covers. No other version is
/// asked for: a checkpoint to come covers all that is written before it. So whoever writes leaves two of them: the one that
/// is seen, and the one that will be.
package struct LookupVersions {
    /// A source row under one key of a lookup: what has versions.
    package struct Place: Sendable, Hashable {
        /// The id in `lookup_definition`.
        package let definition: Int64
        /// Where the key lies among the bytes that are handed along.
        package let key: Range<Int>
        /// The record of the row's table.
        package let sourceTable: Int64
        /// What the row is found by in its table.
        package let row: RowKey

        /// Makes a place of its fields.
        package init(definition: Int64, key: Range<Int>, sourceTable: Int64, row: RowKey) {
            self.definition = definition
            self.key = key
            self.sourceTable = sourceTable
            self.row = row
        }
    }

    /// What is stored at a place, beside the value that is to be written.
    private struct Stored {
        /// How many versions there are.
        var count = 0
        /// Whether the newest one has the value, or none is needed for it.
        var isSame: Bool
        /// The newest one that the checkpoint covers.
        var covered: OperationID?
        /// Whether that one has the value, or none is needed for it.
        var isCoveredSame: Bool
        /// Whether that one is needed: a tombstone with nothing below it is not.
        var isCoveredNeeded = false
    }

    private let connection: SQLiteConnection

    /// Writes through a connection.
    ///
    /// - Parameter connection: The one that writes, in a transaction that this does not outlive.
    package init(_ connection: SQLiteConnection) { self.connection = connection }

    /// Returns the id of a definition, which is given if there is none.
    ///
    /// - Parameters:
    ///   - name: The name of the lookup in the plan.
    ///   - stream: Whose it is.
    /// - Returns: The id.
    /// - Throws: `SQLiteError`.
    package func definition(named name: ExactText, of stream: StreamNumber) throws -> Int64 {
        let found = try Self.definition(named: name, of: stream, connection)
        if let found { return found }
        try connection.run(
            "INSERT INTO lookup_definition(stream, name) VALUES (?, ?)",
            [.integer(stream), .text(name.text)])
        return connection.lastInsertRowID
    }

    /// The id of a definition; nil if none was given.
    static func definition(
        named name: ExactText, of stream: StreamNumber, _ connection: SQLiteConnection
    ) throws -> Int64? {
        try connection.one(
            "SELECT id FROM lookup_definition WHERE stream = ? AND name = ?",
            [.integer(stream), .text(name.text)]
        ) { $0.int64(0) }
    }

    /// Writes what a key finds of a source row from now on.
    ///
    /// - Parameters:
    ///   - value: Where the value lies, as `LookupValues` packs it; empty if the key finds nothing of the row any more.
    ///   - place: The row and the key.
    ///   - bytes: What value and key lie in.
    ///   - checkpoint: The last operation that is published, or will be with the transaction by a commit before this.
    ///   - id: Gives the id of the version, larger than all before; asked for one if there is something to write.
    /// - Returns: Whether it was written; not if the key finds that already.
    /// - Throws: `SQLiteError`.
    package func write(
        _ value: Range<Int>, at place: Place, in bytes: [UInt8], checkpoint: OperationID,
        id: () -> OperationID
    ) throws -> Bool {
        let stored = try stored(value, place, bytes, checkpoint)
        if stored.isSame { return false }
        if stored.count > (stored.isCoveredNeeded ? 1 : 0) {
            let kept = stored.isCoveredNeeded ? stored.covered ?? 0 : 0
            try connection.withStatement(Self.deleteOthers) { statement in
                try statement.lending(bytes) { lent in
                    try bind(place, statement, lent)
                    try statement.bind(kept, at: 5)
                    try statement.runBound()
                }
            }
        }
        if stored.isCoveredSame { return false }
        try connection.withStatement(Self.insert) { statement in
            try statement.lending(bytes) { lent in
                try bind(place, statement, lent)
                try statement.bind(id(), at: 5)
                try lent.bind(blob: value, at: 6)
                try statement.runBound()
            }
        }
        return true
    }

    private func stored(
        _ value: Range<Int>, _ place: Place, _ bytes: [UInt8], _ checkpoint: OperationID
    ) throws -> Stored {
        try connection.withStatement(Self.select) { statement in
            try statement.lending(bytes) { lent -> Stored in
                try bind(place, statement, lent)
                var stored = Stored(isSame: value.isEmpty, isCoveredSame: value.isEmpty)
                while try statement.step() {
                    let row = try statement.row()
                    let isSame = row.withBlob(1) { $0.elementsEqual(bytes[value]) }
                    if stored.count == 0 { stored.isSame = isSame }
                    stored.count += 1
                    guard stored.covered == nil, row.int64(0) <= checkpoint else { continue }
                    stored.covered = row.int64(0)
                    stored.isCoveredSame = isSame
                    stored.isCoveredNeeded = row.byteCount(1) > 0
                }
                return stored
            }
        }
    }

    private func bind(
        _ place: Place, _ statement: SQLiteStatement, _ lent: borrowing SQLiteLentBytes
    ) throws {
        try statement.bind(place.definition, at: 1)
        try lent.bind(blob: place.key, at: 2)
        try statement.bind(place.sourceTable, at: 3)
        try statement.bind(.blob(place.row.bytes), at: 4)
    }

    private static let ofPlace = "WHERE definition = ? AND key = ? AND source_table = ? AND row = ?"
    private static let select = "SELECT op_id, value FROM lookup \(ofPlace) ORDER BY op_id DESC"
    private static let deleteOthers = "DELETE FROM lookup \(ofPlace) AND op_id <> ?"
    private static let insert =
        "INSERT INTO lookup(definition, key, source_table, row, op_id, value) VALUES (?, ?, ?, ?, ?, ?)"
}

@available(*, unavailable)
extension LookupVersions: Sendable {}
