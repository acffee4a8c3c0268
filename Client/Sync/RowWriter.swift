import PowerSyncSQLite
import PowerSyncWire

/// Writes single rows where the app sees them (client-core 6.7 step 6); make one for each apply and end it.
struct RowWriter {
    private enum Destination {
        case table(put: SQLiteStatement, delete: SQLiteStatement)
        case raw(RawTableWriter)
        case untyped(put: SQLiteStatement, delete: SQLiteStatement)
    }

    /// A text of SQLite or of a line, which stays where it is during a call.
    typealias Text = UnsafeBufferPointer<UInt8>

    private let connection: SQLiteConnection
    private let rawTables: [RawTableDefinition]
    private let tables: Set<ExactText>
    private var destinations: [ExactText: Destination] = [:]
    private var borrowed: [SQLiteStatement] = []
    private var type: [UInt8] = []
    private var destination: Destination?

    init(_ connection: SQLiteConnection, rawTables: [RawTableDefinition]) throws {
        self.connection = connection
        self.rawTables = rawTables
        tables = Set(try DataTable.all(on: connection).filter { !$0.isLocal }.map { ExactText($0.name) })
    }

    /// Gives back what it borrowed of the connection.
    mutating func end() {
        for statement in borrowed { connection.giveBack(statement) }
        borrowed = []
        destinations = [:]
        destination = nil
    }

    /// Writes one row, or takes it away.
    ///
    /// - Parameters:
    ///   - type: the name of its table.
    ///   - id: its id.
    ///   - data: its JSON as received; nil to take it away.
    /// - Throws: `SQLiteError`, also for a row that a raw table refuses.
    mutating func write(type: Text, id: Text, data: Text?) throws {
        let destination = try destination(of: type)
        if let data, RowJSONRepair.mayHoldBareWord(data) {
            var text = RowJSONRepair.repaired(String(decoding: data, as: UTF8.self))
            return try text.withUTF8 { try Self.write(destination, type, id, $0) }
        }
        try Self.write(destination, type, id, data)
    }

    private static func write(_ destination: Destination, _ type: Text, _ id: Text, _ data: Text?) throws {
        switch (destination, data) {
        case (.table(let put, _), let data?):
            try put.bind(uncopied: id, at: 1)
            try put.bind(uncopied: data, at: 2)
            try put.runBound()
        case (.table(_, let delete), nil):
            try delete.bind(uncopied: id, at: 1)
            try delete.runBound()
        case (.raw(let writer), let data?):
            try writer.put(
                id: String(decoding: id, as: UTF8.self), data: String(decoding: data, as: UTF8.self))
        case (.raw(let writer), nil): try writer.delete(id: String(decoding: id, as: UTF8.self))
        case (.untyped(let put, _), let data?):
            try put.bind(uncopied: type, at: 1)
            try put.bind(uncopied: id, at: 2)
            try put.bind(uncopied: data, at: 3)
            try put.runBound()
        case (.untyped(_, let delete), nil):
            try delete.bind(uncopied: type, at: 1)
            try delete.bind(uncopied: id, at: 2)
            try delete.runBound()
        }
    }

    /// A table of the schema goes before a raw table of the same name (client-core 3.5).
    private mutating func destination(of type: Text) throws -> Destination {
        // Rows come in the order of their types.
        if let destination, self.type.elementsEqual(type) { return destination }
        let name = String(decoding: type, as: UTF8.self)
        let found = try destinations[ExactText(name)] ?? destination(ofType: name)
        destinations[ExactText(name)] = found
        destination = found
        self.type = Array(type)
        return found
    }

    private mutating func destination(ofType type: String) throws -> Destination {
        if tables.contains(ExactText(type)) {
            let table = SQLText.identifier("ps_data__\(type)")
            return .table(
                put: try borrow("REPLACE INTO \(table)(id, data) VALUES (?1, ?2)"),
                delete: try borrow("DELETE FROM \(table) WHERE id = ?1"))
        }
        if let raw = rawTables.first(where: { ExactText($0.name) == ExactText(type) }) {
            return .raw(try RawTableWriter(raw, on: connection))
        }
        return .untyped(
            put: try borrow("REPLACE INTO ps_untyped(type, id, data) VALUES (?1, ?2, ?3)"),
            delete: try borrow("DELETE FROM ps_untyped WHERE type = ?1 AND id = ?2"))
    }

    private mutating func borrow(_ sql: String) throws -> SQLiteStatement {
        let statement = try connection.borrow(sql)
        borrowed.append(statement)
        return statement
    }
}
