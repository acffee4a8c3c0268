import PowerSyncWire

/// What is known of the tables that uploads may write: a value, with the moment it was read.
///
/// It remembers every name that it ever held, because a name that has gone may be a migration on its way, while one that
/// never was there is a mistake of the client (backend 3.1, 8.5).
package struct CatalogKnowledge: Sendable, Hashable {
    /// A client's name of a table, or of one of its columns.
    package struct Name: Sendable, Hashable {
        /// The table.
        package let table: String
        /// The column; nil for the table itself.
        package let column: String?

        /// Makes a name of its parts.
        package init(table: String, column: String? = nil) {
            self.table = table
            self.column = column
        }

        /// Compares bytes, as clients and Postgres do.
        package static func == (left: Name, right: Name) -> Bool {
            ExactText(left.table) == ExactText(right.table)
                && left.column.map(ExactText.init) == right.column.map(ExactText.init)
        }

        /// Hashes the bytes.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(ExactText(table))
            hasher.combine(column.map(ExactText.init))
        }
    }

    /// What is known of a name that is not there.
    package enum Absence: Sendable, Hashable {
        /// It never was there.
        case never
        /// It was there, and has been missing for so long.
        case gone(Duration)
    }

    /// The tables as they were read last.
    package private(set) var tables: UploadTables
    /// Rises whenever a reading finds something else.
    package private(set) var number = 1
    /// When the reading began that said so last.
    package private(set) var readAt: ContinuousClock.Instant
    private var names: Set<Name>
    private var missing: [Name: ContinuousClock.Instant] = [:]

    /// Makes the knowledge of a first reading.
    ///
    /// - Parameters:
    ///   - tables: what it found.
    ///   - now: when it began.
    package init(_ tables: UploadTables, at now: ContinuousClock.Instant) {
        self.tables = tables
        readAt = now
        names = CatalogKnowledge.names(of: tables)
    }

    /// Takes over a reading, whatever it lacks.
    ///
    /// - Parameters:
    ///   - newer: what it found.
    ///   - now: when it began.
    package mutating func take(_ newer: UploadTables, at now: ContinuousClock.Instant) {
        readAt = now
        guard newer != tables else { return }
        tables = newer
        number += 1
        let present = CatalogKnowledge.names(of: newer)
        names.formUnion(present)
        for name in names {
            if present.contains(name) {
                missing[name] = nil
            } else if missing[name] == nil {
                missing[name] = now
            }
        }
    }

    /// What is known of a name that an upload used and that is not there.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - now: the time.
    /// - Returns: whether it was there before, and for how long it has been missing.
    package func absence(of name: Name, at now: ContinuousClock.Instant) -> Absence {
        // A column that is missing with its table is missing because of it.
        let table = missing[Name(table: name.table)]
        guard let since = missing[name] ?? table else { return .never }
        return .gone(now - since)
    }

    private static func names(of tables: UploadTables) -> Set<Name> {
        var names: Set<Name> = []
        for (name, table) in tables.tables {
            names.insert(Name(table: name.text))
            for column in table.columns.keys { names.insert(Name(table: name.text, column: column.text)) }
        }
        return names
    }
}
