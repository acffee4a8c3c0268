import PowerSyncPostgresValues

/// One message of the `pgoutput` plug-in, protocol version 1 with text values (service 7.11).
///
/// Times count microseconds since 2000-01-01 UTC.
package enum PgOutputMessage: Sendable, Equatable {
    /// A transaction begins; its changes follow, up to `commit`.
    case begin(finalLSN: LSN, commitTime: Int64, transactionID: UInt32)
    /// The transaction is complete; `endLSN` is the checkpoint's position.
    case commit(commitLSN: LSN, endLSN: LSN, commitTime: Int64)
    /// Where a change came from, when it was replicated to the server itself.
    case origin(lsn: LSN, name: String)
    /// The shape of a table, sent before its first change and again after each change of shape.
    case relation(PgOutputRelation)
    /// A type that is not built in, sent before a relation that uses it.
    case type(oid: UInt32, namespace: String, name: String)
    /// A row is new.
    case insert(relation: UInt32, new: PgOutputTuple)
    /// `old` is there only if the identity changed (`key`) or the table's identity is FULL (`full`).
    case update(relation: UInt32, old: PgOutputOldTuple?, new: PgOutputTuple)
    /// A row is gone; of `old` the identity's columns alone have values, unless the identity is FULL.
    case delete(relation: UInt32, old: PgOutputOldTuple)
    /// Tables are emptied; of `options`, 1 is CASCADE, 2 is RESTART IDENTITY.
    case truncate(relations: [UInt32], options: UInt8)
    /// `pg_logical_emit_message`; one that is not transactional comes outside of `begin` and `commit`.
    case message(isTransactional: Bool, lsn: LSN, prefix: String, content: [UInt8])
}

/// A table as the stream describes it.
package struct PgOutputRelation: Sendable, Hashable {
    /// What identifies a row in old tuples: the letter of `pg_class.relreplident`.
    package enum Identity: UInt8, Sendable, Hashable {
        /// The primary key, `d`.
        case primaryKey = 0x64
        /// Nothing, `n`: no updates and deletes.
        case nothing = 0x6E
        /// All columns, `f`.
        case full = 0x66
        /// The columns of an index, `i`.
        case index = 0x69
    }

    /// A column, in table order.
    package struct Column: Sendable, Hashable {
        /// Whether it belongs to the identity; with identity FULL all do.
        package let isKey: Bool
        /// Its name.
        package let name: String
        /// The id of its type in `pg_type`.
        package let typeOID: UInt32
        /// What its type has in brackets, such as a length; -1 for nothing.
        package let typeModifier: Int32

        /// Makes a column of its parts.
        package init(isKey: Bool, name: String, typeOID: UInt32, typeModifier: Int32) {
            self.isKey = isKey
            self.name = name
            self.typeOID = typeOID
            self.typeModifier = typeModifier
        }
    }

    /// The id of the table in `pg_class`, by which changes refer to it.
    package let oid: UInt32
    /// The schema.
    package let namespace: String
    /// The name within the schema.
    package let name: String
    /// What identifies a row in old tuples.
    package let identity: Identity
    /// The published columns, in table order.
    package let columns: [Column]

    /// Makes a relation of its parts.
    package init(oid: UInt32, namespace: String, name: String, identity: Identity, columns: [Column]) {
        self.oid = oid
        self.namespace = namespace
        self.name = name
        self.identity = identity
        self.columns = columns
    }
}

/// The values of a row, in the order of the relation's columns.
package typealias PgOutputTuple = [PgOutputValue]

/// One value of a row.
package enum PgOutputValue: Sendable, Hashable {
    /// NULL.
    case null
    /// A large value that the update did not touch and the server therefore did not send.
    case unchangedToast
    /// A value in the text form of its type.
    case text(String)

    /// The text; nil for the two other cases.
    package var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }
}

/// What is known of a row before its change.
package enum PgOutputOldTuple: Sendable, Hashable {
    /// Only the identity's columns have values, all others are null here: never a row.
    case key(PgOutputTuple)
    /// The whole row (identity FULL).
    case full(PgOutputTuple)

    /// The values, whichever of them are known.
    package var tuple: PgOutputTuple {
        switch self {
        case .key(let tuple), .full(let tuple): tuple
        }
    }
}
