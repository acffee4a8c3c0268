import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine

/// Finds what the relations of the stream are in the state, and reads tables into it (service 7.3, 7.4).
///
/// The stream is behind the catalog and behind what was read: a relation can tell of a name or an identity that is over.
struct TableLookup {
    let replicator: Replicator
    let connection: PostgresConnection
    let context: EvaluationContext
    /// Takes the rows that are read; nothing is under way in it when a table is looked up.
    let intake: Intake
    let links: LinkMemory

    private var store: ServiceStore { replicator.store }
    private var catalog: SourceCatalog { SourceCatalog(connection) }

    /// Looks a table up when the first change behind its relation message comes; one that is new is read at once.
    ///
    /// - Parameters:
    ///   - relation: What the message says.
    ///   - transaction: The id of the transaction that says it.
    ///   - lsn: Where that is committed.
    /// - Returns: The table; nil if the changes that follow do not matter.
    /// - Throws: `PostgresError`, `SQLiteError`.
    func table(
        _ relation: PgOutputRelation, in transaction: UInt32, committedAt lsn: LSN
    ) async throws -> SourceTable? {
        let types = try await catalog.types()
        let told = TableDescription(
            oid: relation.oid, schema: relation.namespace, name: relation.name,
            columns: relation.columns.map {
                SourceColumn(name: $0.name, typeOID: $0.typeOID, isIdentity: $0.isKey)
            })
        let published = try await used(told.oid)
        if let published, published.lacksIdentity {
            replicator.leaveOut(published, links)
            try await store.forget(oid: told.oid, context)
            return nil
        }
        if let published, !published.description.isSameTable(as: told),
            let known = try await known(published, types), known.wasRead(transaction, committedAt: lsn)
        {
            // What the stream says under a name or an identity that is over was read with the rest. Where the rest was
            // applied again, this may take rows of it away: there all of them are read once more.
            return nil
        }
        guard isUsed(told) else {
            if let published {
                // It has come into the configuration since.
                try await read(published, told: told, types)
            } else {
                // A table that was renamed out of the configuration takes its rows along.
                try await store.forget(oid: told.oid, context)
            }
            return nil
        }
        if let known = try await store.table(matching: told, types: types, context), known.isSnapshotDone,
            published == nil || known.membership == published?.membership
        {
            guard let layout = try await catalog.layout(oid: told.oid, types) else { return known }
            return try await store.note(layout, of: known)
        }
        if let published {
            // One that is listed may have been away since this was told: what was changed meanwhile is in no stream.
            return try await read(published, told: told, types, isToldAgain: !published.isListed)
        }
        if let owner = try await catalog.table(schema: told.schema, name: told.name),
            try await known(owner, types) != nil
        {
            // Another table has the name by now, and its rows are known: those of now.
            try await holdUntilNow()
            return nil
        }
        // It is gone by now, or about to be: what the stream still says of it is all there is.
        return try await store.resolve(told, types: types, context).read
    }

    /// Replaces the rows of a table by those of now.
    ///
    /// - Parameters:
    ///   - oid: The relation.
    ///   - told: What the stream said of it last.
    /// - Returns: The table for what else the stream says; nil if that does not matter.
    /// - Throws: `PostgresError`, `SQLiteError`.
    @discardableResult
    func readAnew(oid: UInt32, told: TableDescription? = nil) async throws -> SourceTable? {
        guard let published = try await used(oid), !published.lacksIdentity else {
            try await store.forget(oid: oid, context)
            // The transaction that took it away has yet to be told.
            try await holdUntilNow()
            return nil
        }
        return try await read(published, told: told, try await catalog.types(), anew: true)
    }

    /// Reads what was missing when the link was lost.
    func readMissing() async throws {
        for table in try await store.incompleteTables(context) {
            guard !table.isAnew, let published = try await used(table.oid), !published.lacksIdentity else {
                try await readAnew(oid: table.oid)
                continue
            }
            try await read(published, told: published.description, try await catalog.types())
        }
    }

    /// Takes fields of composite types as they are by now: the stream does not tell when some are added, dropped or renamed.
    ///
    /// - Parameter batch: Changes, all of which are seen; of those of a table whose rows were identified by fields that are
    ///   over it says that then.
    /// - Throws: `PostgresError`, `SQLiteError`.
    func renewFields(of batch: inout ChangeBatch) async throws {
        let types = try await catalog.types()
        for index in batch.tables.indices where batch.tables[index].table.hasComposites {
            guard batch.changes.contains(where: { $0.table == index }) else { continue }
            let told = batch.tables[index].table
            var table = told.described(by: told.description, types)
            guard table.identity == told.identity else {
                batch.dropChanges(of: index)
                continue
            }
            if let layout = try await catalog.layout(oid: told.description.oid, types) {
                table = try await store.note(layout, of: table)
            }
            batch.tables[index] = try await store.plan(table, context)
        }
    }

    /// The tables that were read while transactions were open which had changed them before they were published, and of
    /// which all have ended: they have to be read anew.
    func tablesWithoutWriters() async throws -> [UInt32] {
        var ended: [UInt32] = []
        for (oid, writers) in try await store.tablesWithWriters(context) {
            if try await !catalog.isOpen(writers) { ended.append(oid) }
        }
        return ended
    }

    /// What was just read is newer than the stream, so nothing is published before the stream is as new.
    func holdUntilNow() async throws {
        try await store.holdCheckpoint(context.stream, until: try await catalog.safePosition())
    }

    private func isUsed(_ table: TableDescription) -> Bool {
        context.uses(schema: table.schema, table: table.name)
    }

    /// A table as it is now; nil if it is gone, not published or not of the configuration.
    private func used(_ oid: UInt32) async throws -> SourceCatalog.PublishedTable? {
        guard let published = try await catalog.table(oid: oid), isUsed(published.description) else {
            return nil
        }
        return published
    }

    /// The record of a table as it is now, if its rows have been read.
    private func known(
        _ published: SourceCatalog.PublishedTable, _ types: TypeCatalog
    ) async throws -> SourceTable? {
        let table = try await store.table(matching: published.description, types: types, context)
        guard let table, table.isSnapshotDone, table.membership == published.membership else { return nil }
        return table
    }

    /// Reads a table unless that has been done.
    ///
    /// The table of now may have other columns than what was told, and another name or identity. Those are what its rows are
    /// read under, never those that were told (service 4.8).
    ///
    /// - Parameters:
    ///   - published: The table as it is now.
    ///   - told: What the stream said of it.
    ///   - types: The types of now.
    ///   - anew: Whether it is read again if it is known.
    ///   - isToldAgain: Whether what was told of it, and read, is applied all the same.
    /// - Returns: The table; nil if it has another name or identity than was told: what the stream says under those was read
    ///   with the rest.
    /// - Throws: `PostgresError`, `SQLiteError`.
    @discardableResult
    private func read(
        _ published: SourceCatalog.PublishedTable, told: TableDescription?, _ types: TypeCatalog,
        anew: Bool = false, isToldAgain: Bool = false
    ) async throws -> SourceTable? {
        let ofNow = told.flatMap { published.description.isSameTable(as: $0) ? $0 : nil }
        // If rows are known under the identity of now, from before it was changed to and fro, they miss what was changed
        // meanwhile, as do those of a table that was out of the publication for a while.
        var table = try await store.resolve(
            ofNow ?? published.description, types: types, context, membership: published.membership,
            anew: anew || ofNow == nil)
        if !table.isSnapshotDone {
            // What they have changed before the table was published is in no stream, and is not seen yet.
            if !anew, published.isListed,
                let writers = try await catalog.writers(of: published.description.oid)
            {
                try await store.note(writers, of: table)
            }
            let read = try await replicator.snapshot(connection, context, intake, links).read(
                published, as: table, types, isToldAgain: isToldAgain && ofNow != nil)
            table.layout = read.layout
            table.seen = read.seen
            table.readUntil = read.readUntil
            try await holdUntilNow()
        }
        return ofNow == nil ? nil : table.read
    }
}
