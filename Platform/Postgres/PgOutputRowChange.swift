/// A change of a row in a message of `pgoutput` whose values stay where they lie (service 7.11).
///
/// It says of a row what `PgOutputMessage` says by its cases `insert`, `update` and `delete`.
package struct PgOutputRowChange: Sendable, Equatable {
    /// What happened to the row.
    package enum Kind: Sendable {
        /// It is new.
        case insert
        /// It has other values.
        case update
        /// It is gone.
        case delete
    }

    /// What happened.
    package let kind: Kind
    /// The id of the table in `pg_class`.
    package let relation: UInt32
    /// Which cells are of the row before; nil where nothing of it was sent.
    package let old: Range<Int>?
    /// Whether these are the whole row (identity FULL); else the identity's columns alone have values.
    package let isOldWhole: Bool
    /// Which cells are of the row as it is now; nil when it is gone.
    package let new: Range<Int>?

    /// Reads a message if it is of a row.
    ///
    /// Every length is checked against the bytes that are there, and nothing may be left over.
    ///
    /// - Parameters:
    ///   - bytes: A buffer, of one message or many.
    ///   - payload: Where the message lies in it.
    ///   - cells: Gets the values behind those that it has, in the order of the relation's columns; if this throws it is as
    ///     before.
    /// - Returns: The change; nil for a message of another kind, which `PgOutputMessage` reads.
    /// - Throws: `PostgresError`, `malformedMessage`, which says what was read and where, never a value.
    package static func read(
        _ bytes: [UInt8], in payload: Range<Int>, cells: inout [PostgresCell]
    ) throws(PostgresError) -> PgOutputRowChange? {
        let before = cells.count
        var reader = MessageReader(bytes, in: payload)
        do throws(PostgresError) {
            let change = try change(&reader, &cells)
            if change != nil { try reader.finish() }
            return change
        } catch {
            cells.removeSubrange(before...)
            throw error
        }
    }

    private static func change(
        _ reader: inout MessageReader, _ cells: inout [PostgresCell]
    ) throws(PostgresError) -> PgOutputRowChange? {
        switch try reader.byte("message type") {
        case UInt8(ascii: "I"):
            let relation: UInt32 = try reader.integer("relation oid")
            try reader.expect(UInt8(ascii: "N"), "new tuple")
            return PgOutputRowChange(
                kind: .insert, relation: relation, old: nil, isOldWhole: false,
                new: try tuple(&reader, &cells))
        case UInt8(ascii: "U"):
            let relation: UInt32 = try reader.integer("relation oid")
            var mark = try reader.byte("tuple kind")
            let isOldWhole = mark == UInt8(ascii: "O")
            var old: Range<Int>?
            if isOldWhole || mark == UInt8(ascii: "K") {
                old = try tuple(&reader, &cells)
                mark = try reader.byte("tuple kind")
            }
            guard mark == UInt8(ascii: "N") else { throw reader.malformed("new tuple") }
            return PgOutputRowChange(
                kind: .update, relation: relation, old: old, isOldWhole: isOldWhole,
                new: try tuple(&reader, &cells))
        case UInt8(ascii: "D"):
            let relation: UInt32 = try reader.integer("relation oid")
            let mark = try reader.byte("old tuple")
            let isOldWhole = mark == UInt8(ascii: "O")
            guard isOldWhole || mark == UInt8(ascii: "K") else { throw reader.malformed("old tuple") }
            return PgOutputRowChange(
                kind: .delete, relation: relation, old: try tuple(&reader, &cells), isOldWhole: isOldWhole,
                new: nil)
        default:
            return nil
        }
    }

    private static func tuple(
        _ reader: inout MessageReader, _ cells: inout [PostgresCell]
    ) throws(PostgresError) -> Range<Int> {
        let first = cells.count
        let count = try reader.count("column count", UInt16.self, itemSize: 1)
        for _ in 0..<count {
            switch try reader.byte("value kind") {
            case UInt8(ascii: "n"): cells.append(.null)
            case UInt8(ascii: "u"): cells.append(.unchanged)
            case UInt8(ascii: "t"):
                let length = try reader.count("value length", UInt32.self, itemSize: 1)
                cells.append(PostgresCell(try reader.bytes("value", length).indices))
            default: throw reader.malformed("value kind")
            }
        }
        return first..<cells.count
    }
}
