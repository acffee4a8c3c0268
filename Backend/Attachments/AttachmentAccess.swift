import PowerSyncPostgres
import PowerSyncWire

/// The questions about who may do what with an attachment, one statement each (`SPEC.md`).
///
/// Identifiers are those of the catalog, values are parameters; a `read:` of the table map is the operator's text. Nil instead
/// of a statement means that no row can be as is asked.
package struct AttachmentAccess: Sendable {
    /// A row as a client names it.
    package struct RowName: Sendable, Hashable {
        /// The client's name of the table.
        package var table: String
        /// The id.
        package var id: String

        /// Makes a name of its parts.
        package init(table: String, id: String) {
            self.table = table
            self.id = id
        }
    }

    /// A row that names an attachment.
    package struct Row: Sendable, Hashable {
        /// Its table.
        package let table: UploadTable
        /// Whose it is; nil for a row that is everybody's.
        package let owner: String?
        /// Its id; nil where nobody has asked for it.
        package let id: String?
        /// Whether it is the one that was to be taken before others.
        package let isPreferred: Bool

        /// Whether it names this file, of those that have the id: that of its owner, or the one that its table shares.
        package func names(_ record: AttachmentRecord) -> Bool {
            guard let column = table.owner else {
                return record.isShared && record.table == table.source.name
            }
            // Who cannot own a row owns none, whatever stands there.
            return owner.map { ExactText($0) == ExactText(record.owner) } == true
                && ValueConversion.ownerText(record.owner, as: column.kind) != nil
        }
    }

    /// How many owners of rows of one table are told: two are as good as many, since then none of them is chosen.
    private static let mostOwners = 2

    /// The tables with columns of attachments.
    package let tables: [UploadTable]

    /// Takes the tables with columns of attachments.
    ///
    /// - Parameters:
    ///   - tables: the tables.
    ///   - hidden: tables that hide rows from some: of these none can be everybody's.
    package init(_ tables: UploadTables, hidden: Set<Catalog.Name> = []) {
        self.tables = tables.attachmentTables.filter { $0.owner != nil || !hidden.contains($0.source.name) }
    }

    /// Returns whether the map has a table of a record now.
    package func knowsTable(of record: AttachmentRecord) -> Bool {
        tables.contains { $0.source.name == record.table }
    }

    // MARK: One id

    /// Asks for rows that name an attachment and belong to the subject.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - subject: who asks.
    ///   - row: a row that is taken before others.
    ///   - orEverybodys: whether rows are asked for, too, that are everybody's without a condition.
    /// - Returns: a statement, whose answer `rows` reads.
    package func own(
        _ id: String, by subject: String, preferring row: RowName? = nil, orEverybodys: Bool = false
    ) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for (number, table) in tables.enumerated()
        where table.owner != nil || (orEverybodys && table.read == nil) {
            // Postgres refuses parameters that nothing stands for: a table that cannot have a row adds none.
            var attempt = question
            guard let names = attempt.names(table, id), let isTheirs = attempt.isOwned(table, by: subject)
            else { continue }
            let columns = attempt.columns(number, table, preferring: row)
            question = attempt
            branches.append(
                "(SELECT \(columns) FROM \(table.quoted) WHERE \(names) AND \(isTheirs) ORDER BY 4 DESC LIMIT 1)"
            )
        }
        return question.statement(branches.joined(separator: " UNION ALL "))
    }

    /// Asks for rows that name an attachment and for which a subject meets the condition of their table, or that are everybody's
    /// without one.
    ///
    /// Which files there are makes no difference to it: a condition that fails says nothing of that. What belongs to the subject
    /// is not asked for, see `own`.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - subject: who asks.
    ///   - row: a row that is taken before others.
    ///   - areEverybodys: whether only rows are asked for that belong to nobody.
    /// - Returns: a statement, whose answer `rows` reads.
    package func readable(
        _ id: String, by subject: String, preferring row: RowName? = nil, areEverybodys: Bool = false
    ) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for (number, table) in tables.enumerated() where table.owner == nil || !areEverybodys {
            var attempt = question
            guard let names = attempt.names(table, id),
                let condition = attempt.condition(table, subject) ?? (table.owner == nil ? "true" : nil)
            else { continue }
            // The condition is for the rows alone that it is about, however the database finds them.
            var isAsked = names
            if let owner = table.owner {
                isAsked += " AND \(owner.quoted) IS NOT NULL"
                if let isTheirs = attempt.isOwned(table, by: subject) { isAsked += " AND NOT \(isTheirs)" }
                let isPreferred = attempt.isPreferred(table, row)
                question = attempt
                branches.append(
                    "(SELECT DISTINCT '\(number)'::text, \(owner.quoted)::text COLLATE pg_catalog.\"C\", NULL::text, "
                        + "\(isPreferred) FROM \(table.quoted) "
                        + "WHERE \(names) AND CASE WHEN \(isAsked) THEN \(condition) ELSE false END "
                        + "ORDER BY 4 DESC LIMIT \(Self.mostOwners))")
            } else {
                let columns = attempt.columns(number, table, preferring: row)
                question = attempt
                branches.append(
                    "(SELECT \(columns) FROM \(table.quoted) "
                        + "WHERE \(names) AND CASE WHEN \(isAsked) THEN \(condition) ELSE false END "
                        + "ORDER BY 4 DESC LIMIT 1)")
            }
        }
        return question.statement(branches.joined(separator: " UNION ALL "))
    }

    /// Reads the answer to `own` or `readable`.
    func rows(_ answer: PostgresResult?) -> [Row] {
        guard let answer else { return [] }
        return (0..<answer.rowCount).compactMap { row in
            guard let number = answer[row, 0].flatMap({ Int($0) }), tables.indices.contains(number) else {
                return nil
            }
            return Row(
                table: tables[number], owner: answer[row, 1], id: answer[row, 2],
                isPreferred: answer[row, 3] == "t")
        }
    }

    /// Asks whether a row names an attachment for which its uploader must keep it.
    ///
    /// Those are his own rows, those that share it, and all others that are everybody's and that he can see, and so change.
    ///
    /// - Parameter record: the attachment.
    /// - Returns: a statement with `t` or `f`.
    package func needed(_ record: AttachmentRecord) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for table in tables {
            var attempt = question
            guard let names = attempt.names(table, record.id),
                let isTheirs = attempt.isOwned(table, by: record.owner)
            else { continue }
            var condition = isTheirs
            if table.owner == nil, !record.isShared || table.source.name != record.table {
                condition = attempt.condition(table, record.owner) ?? "true"
            }
            question = attempt
            branches.append(
                "EXISTS (SELECT FROM \(table.quoted) WHERE \(names) AND CASE WHEN \(names) THEN \(condition) ELSE false END)"
            )
        }
        return question.statement(branches.isEmpty ? "" : "SELECT " + branches.joined(separator: " OR "))
    }

    // MARK: Several attachments

    /// Asks which attachments any row names, whosever it is.
    ///
    /// - Parameters:
    ///   - records: the attachments.
    ///   - some: the tables whose rows are looked at; nil for all.
    /// - Returns: a statement with the places of those in `records`, from 0.
    package func named(_ records: [AttachmentRecord], in some: [UploadTable]? = nil) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for table in some ?? tables {
            for column in table.attachments {
                if let branch = question.named(records, table, column) { branches.append(branch) }
            }
        }
        return question.statement(branches.joined(separator: " UNION "))
    }
}

/// A statement that is being written, with its parameters.
private struct Question {
    private var parameters: [String?] = []

    func statement(_ sql: String) -> PostgresStatement? {
        sql.isEmpty ? nil : PostgresStatement(sql, parameters)
    }

    /// A parameter that is a text.
    mutating func text(_ value: String) -> String {
        parameters.append(value)
        return "$\(parameters.count)::text"
    }

    private mutating func array(_ values: [String?]) -> String {
        parameters.append(arrayLiteral(values))
        return "$\(parameters.count)::text[]"
    }

    // MARK: One attachment; columns stand by their names, as in the condition of a map

    /// What `AttachmentAccess.Row` is made of.
    mutating func columns(
        _ number: Int, _ table: UploadTable, preferring row: AttachmentAccess.RowName?
    ) -> String {
        let isNamed = isPreferred(table, row)
        let owner = table.owner.map { "\($0.quoted)::text" } ?? "NULL::text"
        return "'\(number)'::text, \(owner), \(table.id.quoted)::text, \(isNamed)"
    }

    /// That a row is the one that was named.
    mutating func isPreferred(_ table: UploadTable, _ row: AttachmentAccess.RowName?) -> String {
        guard let row, ExactText(row.table) == ExactText(table.name) else { return "false" }
        return hasText(table.id, row.id)
    }

    /// That a column has a text, byte for byte: the type's own comparison may take two for one.
    mutating func hasText(_ column: UploadColumn, _ value: String) -> String {
        Self.isText(column.quoted, text(value))
    }

    /// That a row names an attachment; nil if no column can.
    mutating func names(_ table: UploadTable, _ id: String) -> String? {
        var columns: [String] = []
        for column in table.attachments {
            guard let value = ValueConversion.ownerText(id, as: column.kind) else { continue }
            columns.append(Self.isValue(column.quoted, column, text(value)))
        }
        return columns.isEmpty ? nil : "(" + columns.joined(separator: " OR ") + ")"
    }

    /// That a row belongs to a subject, or to everybody; nil if none can.
    mutating func isOwned(_ table: UploadTable, by subject: String) -> String? {
        guard let owner = table.owner else { return "true" }
        guard let value = ValueConversion.ownerText(subject, as: owner.kind) else { return nil }
        return hasText(owner, value)
    }

    /// That a subject meets the condition of a table; nil if it has none.
    ///
    /// The subject stands in a question of its own, so that the database does not compute with it before it has found a row.
    mutating func condition(_ table: UploadTable, _ subject: String) -> String? {
        guard let read = table.read else { return nil }
        return read.sql(subject: read.hasSubject ? ReadCondition.place(of: text(subject)) : "")
    }

    // MARK: Several attachments

    /// The places of those that a column names; each column by itself, so that the database can look for all at once.
    mutating func named(
        _ records: [AttachmentRecord], _ table: UploadTable, _ column: UploadColumn
    ) -> String? {
        var (places, ids): ([String?], [String?]) = ([], [])
        for (place, record) in records.enumerated() {
            guard let id = ValueConversion.ownerText(record.id, as: column.kind) else { continue }
            places.append(String(place))
            ids.append(id)
        }
        guard !places.isEmpty else { return nil }
        let condition = Self.isValue("t.\(column.quoted)", column, "u.id")
        let arrays = [array(places), array(ids)].joined(separator: ", ")
        return "SELECT u.place FROM unnest(\(arrays)) AS u(place, id) WHERE EXISTS "
            + "(SELECT FROM \(table.quoted) AS t WHERE \(condition))"
    }

    private static func isText(_ expression: String, _ text: String) -> String {
        "\(expression)::text COLLATE pg_catalog.\"C\" = \(text)"
    }

    /// That a column has a value: found by an index of the type, and compared byte for byte.
    private static func isValue(_ expression: String, _ column: UploadColumn, _ text: String) -> String {
        "(\(expression) = \(column.expression(text)) AND \(isText(expression, text)))"
    }
}
