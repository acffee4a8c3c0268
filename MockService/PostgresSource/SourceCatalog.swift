import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncWire

/// Reads what replication needs to know of the source database.
package struct SourceCatalog {
    private let connection: PostgresConnection

    /// Reads on a connection, which must not be used meanwhile.
    package init(_ connection: PostgresConnection) { self.connection = connection }

    /// Refuses a database of the encoding SQL_ASCII (service 7.1).
    ///
    /// Of all other encodings Postgres makes UTF-8, or refuses to be connected to. Under this one it stores whatever bytes,
    /// and checks them on their way out (manual 23.3): a text that is no UTF-8 would end each COPY, and each stream.
    ///
    /// - Throws: `ReplicationError` with what helps, `PostgresError`.
    package func checkEncoding() async throws {
        let encoding = try await connection.query("SELECT current_setting('server_encoding')").scalar
        guard encoding == "SQL_ASCII" else { return }
        throw ReplicationError(
            .encoding,
            "The database has the encoding SQL_ASCII: Postgres stores texts unchecked, and ends replication at one that is no "
                + "UTF-8. Restore a dump of it into a database of another encoding: CREATE DATABASE … ENCODING 'UTF8' "
                + "TEMPLATE template0.")
    }

    /// Refuses a publication that would lose changes (service 7.1).
    ///
    /// - Returns: The publication, its id and version, which is not 0. One that was made again has another id, one that was
    ///   altered or had another name for a while another version; what was changed in between may be in no stream. Its
    ///   entries do not count: each table has its own (`PublishedTable.membership`).
    /// - Throws: `ReplicationError` with what helps, `PostgresError`.
    @discardableResult
    package func checkPublication() async throws -> Int64 {
        let name = SourceDatabase.publication
        let result = try await connection.query(
            "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot, "
                + "(oid::bigint << 32) | xmin::text::bigint FROM pg_publication WHERE pubname = $1", [name])
        guard result.rowCount == 1 else {
            throw ReplicationError(
                .publication,
                "[PSYNC_S1141] Publication '\(name)' does not exist. Run: `CREATE PUBLICATION \(name) FOR ALL TABLES`."
            )
        }
        guard result[0, 0] == "t" else {
            throw ReplicationError(
                .publication,
                "[PSYNC_S1142] Publication '\(name)' does not publish insert, update, delete and truncate.")
        }
        guard result[0, 1] == "f" else {
            throw ReplicationError(
                .publication, "[PSYNC_S1143] Publication '\(name)' uses publish_via_partition_root.")
        }
        return result[0, 2].flatMap { Int64($0) } ?? 0
    }

    /// A position behind everything that was seen before, up to which the log is on the source's disk.
    ///
    /// With `synchronous_commit = off` rows are seen before that, and may never have been after a crash.
    func safePosition() async throws -> LSN {
        let position = try await Self.position(connection)
        try await Self.ping(connection)
        return position
    }

    /// The position of the log now, on any connection.
    static func position(_ connection: PostgresConnection) async throws -> LSN {
        // Not the position up to which the log is written: with synchronous_commit = off rows are seen before that.
        let text = try await connection.query("SELECT pg_current_wal_insert_lsn()").scalar
        guard let lsn = text.flatMap({ LSN(text: $0) }) else {
            throw ReplicationError(.unexpected, "pg_current_wal_insert_lsn() gave no position.")
        }
        return lsn
    }

    /// The transactions that are seen now, and by everything that is read later.
    func seenTransactions() async throws -> SeenTransactions {
        let text = try await connection.query("SELECT txid_current_snapshot()").scalar
        guard let seen = text.flatMap({ SeenTransactions(text: $0) }) else {
            throw ReplicationError(.unexpected, "txid_current_snapshot() gave no snapshot.")
        }
        return seen
    }

    /// The position up to which the log is on the source's disk.
    func flushedPosition() async throws -> LSN {
        let text = try await connection.query("SELECT pg_current_wal_flush_lsn()").scalar
        guard let lsn = text.flatMap({ LSN(text: $0) }) else {
            throw ReplicationError(.unexpected, "pg_current_wal_flush_lsn() gave no position.")
        }
        return lsn
    }

    /// What a connection that replicates is to those who commit.
    enum StandbyState {
        /// Nobody waits for it.
        case none
        /// Commits would wait for it if others went.
        case candidate
        /// Commits wait for it.
        case current
    }

    /// What the connection of a process on the server is to those who commit.
    func standbyState(of process: Int32) async throws -> StandbyState {
        // Roles without pg_read_all_stats see that there is a connection and nothing of it.
        let state = try await connection.query(
            """
            SELECT coalesce((SELECT sync_state FROM pg_stat_replication WHERE pid = $1::int),
                CASE WHEN current_setting('synchronous_standby_names') LIKE '%*%' THEN 'sync' ELSE 'async' END)
            """, [String(process)]
        ).scalar
        return switch state {
        case "sync", "quorum": .current
        case "potential": .candidate
        default: .none
        }
    }

    /// Writes a message into the log, so that replication soon passes everything before it (service 7.6).
    ///
    /// It is transactional, so that its commit is flushed at once; one that is not waits up to 200 ms for the
    /// log writer. Its commit waits for no standby (`SourceDatabase.statementParameters`).
    static func ping(_ connection: PostgresConnection) async throws {
        try await connection.query("SELECT pg_logical_emit_message(true, 'powersync', 'ping')")
    }

    /// All types of the database.
    func types() async throws -> TypeCatalog {
        let hasMultiranges = await connection.serverVersion >= 140_000
        let multirange =
            hasMultiranges ? "(SELECT rngsubtype FROM pg_range WHERE rngmultitypid = t.oid)" : "NULL"
        let rows = try await connection.query(
            """
            SELECT t.oid, t.typname, t.typtype, t.typdelim, t.typlen = -1, e.oid IS NOT NULL,
                coalesce(CASE t.typtype WHEN 'd' THEN t.typbasetype WHEN 'b' THEN t.typelem
                    WHEN 'r' THEN (SELECT rngsubtype FROM pg_range WHERE rngtypid = t.oid)
                    WHEN 'm' THEN \(multirange) END, 0),
                n.nspname = 'pg_catalog'
            FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
            -- An array is what another type names as its own; int2vector and oidvector are none, and have no braces.
            LEFT JOIN pg_type e ON e.typarray = t.oid
            """)
        let fields = try await connection.query(
            """
            SELECT c.reltype, a.attname, a.atttypid FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relkind = 'c' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum
            """)
        var fieldsByType: [UInt32: [(name: String, oid: UInt32)]] = [:]
        for row in 0..<fields.rowCount {
            let field = (name: fields[row, 1] ?? "", oid: Self.oid(fields[row, 2]))
            fieldsByType[Self.oid(fields[row, 0]), default: []].append(field)
        }
        let entries = (0..<rows.rowCount).map { row in
            // A type of one's own named like a built-in one is not that one.
            let isBuiltIn = rows[row, 7] == "t"
            var entry = TypeCatalog.Entry(
                oid: Self.oid(rows[row, 0]), name: isBuiltIn ? rows[row, 1] ?? "" : "",
                kind: rows[row, 2]?.first ?? "b")
            entry.delimiter = rows[row, 3]?.first ?? ","
            entry.isVariableLength = rows[row, 4] == "t"
            entry.isArray = rows[row, 5] == "t"
            entry.inner = Self.oid(rows[row, 6])
            entry.fields = fieldsByType[entry.oid] ?? []
            return entry
        }
        return TypeCatalog(entries)
    }

    /// A table that is published, and how its rows can be read in order.
    package struct PublishedTable: Equatable {
        /// Name, and the columns that are published.
        package let description: TableDescription
        /// The condition that published rows fulfil, in SQL; nil for all rows.
        let filter: String?
        /// Whether Postgres hides rows from our role, which the stream sends all the same.
        package let hidesRows: Bool
        /// Whether rows are identified by a column, too, that is not published: then it cannot be said which row is meant.
        package let lacksIdentity: Bool
        /// The only column of the primary key, if rows can be read along it.
        let key: String?
        /// By what it is published: the entries of the publication and, for a partition, its places.
        ///
        /// Another filter or list of columns is another entry. What was changed before the one of now is in no stream.
        let membership: String
        /// Whether it is published by name or schema, and so could be changed before, and while it was away.
        let isListed: Bool

        /// What is told of one that hides rows.
        package static func hidesRowsText(_ table: String) -> String {
            "[PSYNC_S1145] Row level security hides rows of \(table) from the role of this service: they are synced only "
                + "once they change. Give the role BYPASSRLS."
        }
    }

    /// The tables that a configuration reads.
    ///
    /// - Parameter patterns: What it names.
    /// - Returns: Those that are named whole, whether they are there or not, and of wildcards those that are there, by schema
    ///   and name; each once, in the order of the patterns.
    /// - Throws: `PostgresError`.
    func tables(of patterns: [TablePattern]) async throws -> [(schema: String, name: String)] {
        let tag = CompileOptions().defaultTag
        let ours = patterns.filter { $0.tag.suffix(of: tag) != nil }
        var there: [(schema: ExactText, name: ExactText)] = []
        if ours.contains(where: { $0.schema.isWildcard || $0.name.isWildcard }) {
            // As in `published`.
            let rows = try await connection.query(
                """
                SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND c.oid >= 16384
                ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
                """)
            there = (0..<rows.rowCount).map { (ExactText(rows[$0, 0] ?? ""), ExactText(rows[$0, 1] ?? "")) }
        }
        var known: Set<[ExactText]> = []
        return ours.flatMap { pattern -> [(schema: ExactText, name: ExactText)] in
            if case .exact(let schema) = pattern.schema, case .exact(let name) = pattern.name {
                return [(schema, name)]
            }
            return there.filter { pattern.matches(tag: tag, schema: $0.schema, name: $0.name) }
        }
        .filter { known.insert([$0.schema, $0.name]).inserted }
        .map { (schema: $0.schema.text, name: $0.name.text) }
    }

    /// Describes a table by its name; nil if it does not exist, is no ordinary table or is not published.
    package func table(schema: String, name: String) async throws -> PublishedTable? {
        try await published(where: "n.nspname = $2 AND c.relname = $3", [schema, name])
    }

    /// Describes a table by its id; nil if it does not exist any more, is no ordinary table or is not published.
    func table(oid: UInt32) async throws -> PublishedTable? {
        try await published(where: "c.oid = $2::oid", [String(oid)])
    }

    private func published(where condition: String, _ values: [String]) async throws -> PublishedTable? {
        let version = await connection.serverVersion
        let hasLists = version >= 150_000
        // From version 16 on the view pg_publication_tables opens every table that is published: one that somebody has locked
        // would hold up all others.
        let schemas =
            hasLists
            ? """
            UNION ALL SELECT 's' || s.oid::text FROM up JOIN pg_class r ON r.oid = up.relid
            JOIN pg_publication_namespace s ON s.pnnspid = r.relnamespace WHERE s.pnpubid = u.oid
            """ : ""
        // An entry of its own has a filter and a list of columns, unless the table is published by its schema, too.
        let entry =
            hasLists
            ? """
            LEFT JOIN pg_publication_rel e ON e.prpubid = u.oid AND e.prrelid = c.oid AND NOT EXISTS (
                SELECT FROM pg_publication_namespace s WHERE s.pnpubid = u.oid AND s.pnnspid = c.relnamespace)
            """ : ""
        // The entry of a table covers its partitions, of which only xmin tells whether they were away for a while.
        let found = try await connection.query(
            """
            SELECT c.oid, n.nspname, c.relname, \(hasLists ? "pg_get_expr(e.prqual, e.prrelid)" : "NULL"),
                row_security_active(c.oid), m.membership, \(hasLists ? "e.prattrs::text" : "NULL"),
                \(version >= 180_000 ? "u.pubgencols" : "'n'")
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_publication u ON u.pubname = $1 \(entry)
            CROSS JOIN LATERAL (
                SELECT CASE WHEN u.puballtables THEN 'all' ELSE (
                    WITH RECURSIVE up(relid, via) AS (
                        SELECT c.oid, '' UNION ALL
                        SELECT i.inhparent, 'i' || i.inhparent::text || '.' || i.xmin::text
                        FROM up JOIN pg_inherits i ON i.inhrelid = up.relid
                        JOIN pg_class r ON r.oid = i.inhparent AND r.relkind = 'p'
                    )
                    SELECT CASE WHEN bool_or(part NOT LIKE 'i%') THEN string_agg(part, ' ' ORDER BY part) END FROM (
                        SELECT via FROM up WHERE via <> ''
                        UNION ALL SELECT 't' || t.oid::text FROM up JOIN pg_publication_rel t ON t.prrelid = up.relid
                        WHERE t.prpubid = u.oid \(schemas)
                    ) parts(part)
                ) END
            ) m(membership)
            -- Postgres publishes no tables of its own, and none that are unlogged or temporary.
            WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND c.oid >= 16384 AND m.membership IS NOT NULL
                AND \(condition)
            """, [SourceDatabase.publication] + values)
        guard found.rowCount > 0, let oid = found[0, 0], let schema = found[0, 1], let name = found[0, 2]
        else {
            return nil
        }
        // What the publication leaves out of the stream is not read either: until 18 every generated column, then those that
        // are in no list, unless it publishes the stored ones.
        let columns = try await connection.query(
            """
            SELECT a.attname, a.atttypid,
                CASE c.relreplident WHEN 'f' THEN of.published WHEN 'n' THEN false
                    -- Behind the key lie the columns of INCLUDE, which identify nothing.
                    ELSE coalesce(a.attnum = ANY(
                        (string_to_array(i.indkey::text, ' ')::int2[])[1:i.indnkeyatts]), false) END,
                coalesce(p.indnkeyatts = 1 AND a.attnum = p.indkey[0]
                    AND a.atttypid IN (20, 21, 23, 25, 1043, 2950), false), of.published
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            CROSS JOIN LATERAL (SELECT CASE WHEN $2::text IS NULL THEN a.attgenerated IN ('', $3::"char")
                ELSE a.attnum::text = ANY(string_to_array($2::text, ' ')) END) of(published)
            -- Postgres identifies rows by no index that is invalid or may be violated until the commit.
            LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indimmediate AND i.indisvalid AND CASE c.relreplident
                WHEN 'i' THEN i.indisreplident WHEN 'd' THEN i.indisprimary ELSE false END
            LEFT JOIN pg_index p ON p.indrelid = c.oid AND p.indisprimary
            WHERE c.oid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY a.attnum
            """, [oid, found[0, 6], found[0, 7]])
        var key: String?
        var described: [SourceColumn] = []
        var lacksIdentity = false
        for row in 0..<columns.rowCount {
            let name = columns[row, 0] ?? ""
            guard columns[row, 4] == "t" else {
                if columns[row, 2] == "t" { lacksIdentity = true }
                continue
            }
            if columns[row, 3] == "t" { key = name }
            described.append(
                SourceColumn(
                    name: name, typeOID: Self.oid(columns[row, 1]),
                    isIdentity: columns[row, 2] == "t"))
        }
        return PublishedTable(
            description: TableDescription(oid: Self.oid(oid), schema: schema, name: name, columns: described),
            filter: found[0, 3], hidesRows: found[0, 4] == "t", lacksIdentity: lacksIdentity, key: key,
            membership: found[0, 5] ?? "",
            isListed: found[0, 5] != "all")
    }

    /// Where the rows of a table lie by now and what fields their values have; nil if it does not exist any more.
    func layout(oid: UInt32, _ types: TypeCatalog) async throws -> TableLayout? {
        let found = try await connection.query(
            """
            SELECT pg_current_wal_insert_lsn(), c.relfilenode || ' ' || coalesce(string_agg(
                concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, quote_ident(a.attname)), ',' ORDER BY a.attnum), ''),
                string_agg(a.atttypid::text, ',' ORDER BY a.attnum)
            FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.oid = $1::oid GROUP BY c.oid, c.relfilenode
            """, [String(oid)])
        guard found.rowCount == 1, let lsn = found[0, 0].flatMap({ LSN(text: $0) }), let text = found[0, 1]
        else {
            return nil
        }
        let fields = (found[0, 2] ?? "").split(separator: ",").map {
            types.type(Self.oid(String($0))).fieldsText
        }
        return TableLayout(
            text: ([text] + fields.filter { !$0.isEmpty }).joined(separator: "\n"), seenAt: lsn)
    }

    /// The transactions that are open and have changed a table, or have tried to.
    ///
    /// Whoever takes a table into the publication does not wait for those.
    func writers(of oid: UInt32) async throws -> OpenTransactions? {
        let ids = try await connection.query(
            """
            SELECT array_agg(x.transactionid::text) FROM pg_locks w
            JOIN pg_locks x ON x.virtualtransaction = w.virtualtransaction AND x.pid IS NOT DISTINCT FROM w.pid
            WHERE w.locktype = 'relation' AND w.relation = $1::oid AND w.mode = 'RowExclusiveLock' AND w.granted
                AND w.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND x.locktype = 'transactionid' AND x.mode = 'ExclusiveLock' AND x.granted
            """, [String(oid)]
        ).scalar
        return ids.map { OpenTransactions(ids: $0) }
    }

    /// Whether the publication has entries, or tables partitions, that are younger than a slot at which nobody has begun to
    /// read: then there can be transactions that changed a table behind the slot and before it was published.
    func hasEntries(youngerThan slot: String) async throws -> Bool {
        let schemas =
            await connection.serverVersion >= 150_000
            ? "UNION ALL SELECT xmin FROM pg_publication_namespace" : ""
        return try await connection.query(
            """
            SELECT EXISTS (SELECT FROM (SELECT xmin FROM pg_publication_rel UNION ALL SELECT xmin FROM pg_inherits
                \(schemas)) e(xid) WHERE age(e.xid) <= age(s.catalog_xmin))
            FROM pg_replication_slots s WHERE s.slot_name = $1
            """, [slot]
        ).scalar != "f"
    }

    /// Whether one of these transactions is still open.
    func isOpen(_ transactions: OpenTransactions) async throws -> Bool {
        // One that is seen already may have its lock for a moment more.
        try await connection.query(
            """
            SELECT EXISTS (SELECT FROM txid_current_snapshot() now,
                LATERAL (SELECT txid_snapshot_xmax(now) + 2147483648) n(near), pg_locks l
                WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
                AND l.transactionid::text = ANY($1::text[]) AND NOT txid_visible_in_snapshot(
                    near - ((near - l.transactionid::text::bigint) & 4294967295), now))
            """, [transactions.ids]
        ).scalar == "t"
    }

    /// A table as it is now, published or not.
    struct CurrentTable: Equatable {
        /// Name, and the columns that are not generated.
        let description: TableDescription
        /// The operator by which values of a column are compared with `=`, by the column's name.
        let equality: [ExactText: String]
    }

    /// Describes a table by its id; nil if it does not exist any more.
    func currentTable(oid: UInt32) async throws -> CurrentTable? {
        // The operators of types that extensions bring lie beside the type; of all others in pg_catalog.
        let rows = try await connection.query(
            """
            SELECT n.nspname, c.relname, a.attname, a.atttypid, CASE WHEN t.typtype = 'b' AND t.typcategory <> 'A'
                THEN quote_ident(tn.nspname) ELSE 'pg_catalog' END, a.attgenerated = ''
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
            JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace tn ON tn.oid = t.typnamespace
            WHERE c.oid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
            """, [String(oid)])
        guard rows.rowCount > 0 else { return nil }
        var description = TableDescription(
            oid: oid, schema: rows[0, 0] ?? "", name: rows[0, 1] ?? "", columns: [])
        var equality: [ExactText: String] = [:]
        for row in 0..<rows.rowCount {
            let name = rows[row, 2] ?? ""
            // From version 18 on generated columns can be published, and identify rows.
            if rows[row, 5] == "t" {
                description.columns.append(
                    SourceColumn(name: name, typeOID: Self.oid(rows[row, 3]), isIdentity: false))
            }
            equality[ExactText(name)] = "OPERATOR(\(rows[row, 4] ?? "pg_catalog").=)"
        }
        return CurrentTable(description: description, equality: equality)
    }

    private static func oid(_ text: String?) -> UInt32 { text.flatMap { UInt32($0) } ?? 0 }
}
