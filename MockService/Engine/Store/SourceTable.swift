import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncWire

/// A column of a source table as replication describes it.
package struct SourceColumn: Sendable, Hashable {
    /// The name.
    package let name: String
    /// The id of the type.
    package let typeOID: UInt32
    /// Whether it belongs to the replica identity.
    package let isIdentity: Bool

    /// Makes a column.
    package init(name: String, typeOID: UInt32, isIdentity: Bool) {
        self.name = name
        self.typeOID = typeOID
        self.isIdentity = isIdentity
    }
}

/// A source table before it has a place in the state file.
package struct TableDescription: Sendable, Hashable {
    /// The id of the relation.
    package var oid: UInt32
    /// The schema.
    package var schema: String
    /// The name.
    package var name: String
    /// The columns in table order.
    package var columns: [SourceColumn]

    /// Makes a description.
    package init(oid: UInt32, schema: String, name: String, columns: [SourceColumn]) {
        self.oid = oid
        self.schema = schema
        self.name = name
        self.columns = columns
    }

    /// Whether a record of one goes on for the other, as long as types are as they are now: the same relation under the
    /// same name with the same identity.
    package func isSameTable(as other: TableDescription) -> Bool {
        hasSameName(as: other) && identity(TypeCatalog()) == other.identity(TypeCatalog())
    }

    /// Whether it is the same relation under the same name.
    func hasSameName(as other: TableDescription) -> Bool {
        oid == other.oid && ExactText(schema) == ExactText(other.schema)
            && ExactText(name) == ExactText(other.name)
    }

    /// Names and types of the identity, with the fields of composite types; another text means other replica ids (service
    /// 4.8).
    func identity(_ types: TypeCatalog) -> ExactText {
        let parts = columns.filter(\.isIdentity).map {
            "\($0.typeOID) \($0.name)\(types.type($0.typeOID).fieldsText)"
        }
        return ExactText(parts.joined(separator: "\n"))
    }
}

/// A source table with its record in the state file and the types of its columns.
package struct SourceTable: Sendable {
    /// The id of the record.
    package let id: Int64
    /// What the subkeys of its rows begin with.
    package let uuid: String
    /// What the source says of it.
    package let description: TableDescription
    /// Whether all of its rows have been read.
    package var isSnapshotDone: Bool
    /// The key up to which they have been read.
    package var snapshotKey: String?
    /// Of which layout its rows are.
    package var layout = TableLayout.Version()
    /// By what it was published when its rows were read; nil if they were not.
    package var membership: String?
    /// The transactions that were seen before its rows were read; nil if they were not.
    package var seen: SeenTransactions?
    /// The position of the log behind what was seen then.
    ///
    /// Nothing of it is applied again; zero if it is (service 4.8).
    package var readUntil = LSN.zero
    let types: [PostgresType]
    /// The same where types of one's own count for text: of what is streamed, and of what is read.
    private let plainTypes: (streamed: [PostgresType], read: [PostgresType])
    /// What the replica ids of its rows are made of.
    package let identity: ExactText
    /// Whether rows are identified by fields of composite types.
    package let hasFieldsInIdentity: Bool
    /// The columns whose values an update may leave out.
    let largeColumns: [Int]
    /// The names of the columns that identify a row, in order: what row keys are made of.
    var identityNames: [String]
    /// Tells the names of the large columns from those of another time.
    private let largeDigest: UInt32

    init(
        id: Int64, uuid: String, description: TableDescription, isSnapshotDone: Bool, snapshotKey: String?,
        types: TypeCatalog
    ) {
        self.id = id
        self.uuid = uuid
        self.description = description
        self.isSnapshotDone = isSnapshotDone
        self.snapshotKey = snapshotKey
        self.types = description.columns.map { types.type($0.typeOID) }
        // A row that was read has to be found again when it is streamed: what identifies it is converted in one way.
        plainTypes = (
            description.columns.map { types.plainType($0.typeOID, isRead: $0.isIdentity) },
            description.columns.map { types.plainType($0.typeOID, isRead: true) }
        )
        identity = description.identity(types)
        hasFieldsInIdentity = zip(description.columns, self.types).contains {
            $0.isIdentity && $1.hasFields
        }
        hasComposites = self.types.contains { $0.hasFields }
        largeColumns = description.columns.indices.filter {
            types.isVariableLength(description.columns[$0].typeOID)
        }
        identityNames = description.columns.filter(\.isIdentity).map(\.name)
        largeDigest = Self.digest(largeColumns.map { description.columns[$0].name })
    }

    /// FNV-1a over names, each with a zero behind it.
    private static func digest(_ names: [String]) -> UInt32 {
        var digest: UInt32 = 0x811C_9DC5
        for name in names {
            for byte in name.utf8 { digest = (digest ^ UInt32(byte)) &* 0x0100_0193 }
            digest = digest &* 0x0100_0193
        }
        return digest
    }

    /// The same record with the columns of now.
    package func described(by description: TableDescription, _ types: TypeCatalog) -> SourceTable {
        var table = SourceTable(
            id: id, uuid: uuid, description: description, isSnapshotDone: isSnapshotDone,
            snapshotKey: snapshotKey,
            types: types)
        table.layout = layout
        table.membership = membership
        table.seen = seen
        table.readUntil = readUntil
        return table
    }

    /// The types that values of the columns are converted as.
    ///
    /// - Parameters:
    ///   - options: What the configuration says of them.
    ///   - isRead: Whether the values are read with the table, and not streamed.
    /// - Returns: A type for each column.
    func conversions(_ options: CompatibilityOptions, isRead: Bool) -> [PostgresType] {
        if options.customPostgresTypes { return types }
        return isRead ? plainTypes.read : plainTypes.streamed
    }

    /// Whether what a transaction has changed was read with the rows, and is not applied again.
    ///
    /// - Parameters:
    ///   - transaction: The id that the stream tells.
    ///   - lsn: Where it is committed: ids come again some day, positions do not.
    /// - Returns: False if it is applied.
    package func wasRead(_ transaction: UInt32, committedAt lsn: LSN) -> Bool {
        lsn <= readUntil && seen?.contains(transaction) == true
    }

    /// What the large values are of that are known of a row; of another number they may be others by now.
    ///
    /// A table that is gone has the layout that it had last, whatever columns the stream tells of: so their names count, too.
    var largeShape: Int64 { layout.shape << 32 | Int64(largeDigest) }

    /// Whether large values are kept of its rows: not if the old row has them all (identity FULL), or nothing finds a row
    /// (NOTHING).
    var keepsLargeValues: Bool {
        !identityNames.isEmpty && identityNames.count < description.columns.count
    }

    /// Schema and name, for messages.
    package var qualifiedName: String { "\(description.schema).\(description.name)" }

    /// Whether a column is, or holds, a type with fields of its own, which can change without a word in the stream.
    package let hasComposites: Bool

    /// The same table with all of its rows read.
    package var read: SourceTable {
        var table = self
        table.isSnapshotDone = true
        return table
    }

    /// The subkey of one of its rows (service 4.5).
    func subkey(_ replicaID: ReplicaID) -> String { "\(uuid)/\(replicaID.text)" }
}
