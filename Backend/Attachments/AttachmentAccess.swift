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

    /// The tables with columns of attachments.
    package let tables: [UploadTable]

    /// Takes the tables with columns of attachments.
    package init(_ tables: UploadTables) { self.tables = tables.attachmentTables }

    /// Returns the table of the map that a record was made for, the one with an owner if several are; nil if none is now.
    package func table(of record: AttachmentRecord) -> UploadTable? {
        let all = tables.filter { $0.source.name == record.table }
        return all.first { $0.owner != nil } ?? all.first
    }

    /// Asks for a row that names an attachment and belongs to a subject.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - subject: who asks.
    ///   - record: what is known of it: then only rows are looked at that count.
    ///   - row: a row that is taken before others.
    /// - Returns: a statement whose rows have the number of a table, the id of a row of it, and whether that is `row`.
    package func owned(
        _ id: String, by subject: String, _ record: AttachmentRecord?, preferring row: RowName? = nil
    ) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for (number, table) in tables.enumerated() {
            // Postgres refuses parameters that nothing stands for: a table that cannot have a row adds none.
            var attempt = question
            guard let names = attempt.names(table, id), let isTheirs = attempt.isOwned(table, by: subject)
            else { continue }
            var conditions = [names, isTheirs]
            if let record {
                guard let counts = attempt.counts(table, record) else { continue }
                conditions.append(counts)
            }
            var isPreferred = "false"
            if let row, ExactText(row.table) == ExactText(table.name) {
                isPreferred = attempt.hasText(table.id, row.id)
            }
            question = attempt
            branches.append(
                "(SELECT '\(number)'::text, \(table.id.quoted)::text, \(isPreferred) FROM \(table.quoted) WHERE "
                    + conditions.joined(separator: " AND ") + " ORDER BY 3 DESC LIMIT 1)")
        }
        return question.statement(branches.joined(separator: " UNION ALL "))
    }

    /// Asks whether a subject may read a row that names an attachment and counts for it.
    ///
    /// - Parameters:
    ///   - record: the attachment.
    ///   - subject: who asks.
    /// - Returns: a statement with `t` or `f`.
    package func readable(_ record: AttachmentRecord, by subject: String) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for table in tables {
            var attempt = question
            guard let names = attempt.names(table, record.id), let counts = attempt.counts(table, record),
                let mayRead = attempt.mayRead(table, subject)
            else { continue }
            question = attempt
            // The condition is for the rows alone that it is about, however the database finds them.
            branches.append(
                "EXISTS (SELECT FROM \(table.quoted) WHERE \(names) AND CASE WHEN \(names) AND \(counts) "
                    + "THEN \(mayRead) ELSE false END)")
        }
        return question.statement(
            branches.isEmpty ? "" : "SELECT " + branches.joined(separator: " OR "))
    }

    /// Asks whether the row for which an attachment was recorded is there and belongs to a subject.
    ///
    /// - Parameters:
    ///   - record: the attachment.
    ///   - subject: who asks.
    /// - Returns: a statement with `t` or `f`; nil also where nobody owns rows of the table.
    package func recordedRow(of record: AttachmentRecord, by subject: String) -> PostgresStatement? {
        var question = Question()
        guard let table = table(of: record), table.owner != nil, let row = record.rowID,
            let isTheirs = question.isOwned(table, by: subject)
        else { return nil }
        let isThat = question.isRow(table, row)
        return question.statement(
            "SELECT EXISTS (SELECT FROM \(table.quoted) WHERE \(isThat) AND \(isTheirs))")
    }

    // MARK: Several attachments

    /// Asks which attachments a row names that counts for them.
    ///
    /// - Parameter records: the attachments.
    /// - Returns: a statement with the places of those in `records`, from 0.
    package func named(_ records: [AttachmentRecord]) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for table in tables {
            for column in table.attachments {
                if let branch = question.named(records, table, column) { branches.append(branch) }
            }
        }
        return question.statement(branches.joined(separator: " UNION "))
    }

    /// Asks for which attachments the row is there that was recorded.
    ///
    /// - Parameter records: the attachments.
    /// - Returns: a statement with the places of those in `records`, from 0.
    package func recordedRows(of records: [AttachmentRecord]) -> PostgresStatement? {
        var question = Question()
        var branches: [String] = []
        for table in tables {
            if let branch = question.there(records, table) { branches.append(branch) }
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

    /// That a row is the one of an id.
    mutating func isRow(_ table: UploadTable, _ id: String) -> String {
        // Of some types only Postgres knows whether a text is a value: those rows are found by their texts alone.
        table.id.kind.holdsNames && ValueConversion.ownerText(id, as: table.id.kind) != nil
            ? Self.isValue(table.id.quoted, table.id, text(id)) : hasText(table.id, id)
    }

    /// That a row belongs to a subject; nil if none can.
    mutating func isOwned(_ table: UploadTable, by subject: String) -> String? {
        guard let owner = table.owner else { return "true" }
        guard let value = ValueConversion.ownerText(subject, as: owner.kind) else { return nil }
        return hasText(owner, value)
    }

    /// That a row counts for an attachment; nil if none can.
    mutating func counts(_ table: UploadTable, _ record: AttachmentRecord) -> String? {
        let isSame = table.source.name == record.table
        guard table.owner != nil else { return isSame ? "true" : nil }
        var ways: [String] = []
        if let isTheirs = isOwned(table, by: record.owner) { ways.append(isTheirs) }
        if isSame, let row = record.rowID { ways.append(hasText(table.id, row)) }
        return ways.isEmpty ? nil : "(" + ways.joined(separator: " OR ") + ")"
    }

    /// That a subject may read a row; nil if it can read none.
    mutating func mayRead(_ table: UploadTable, _ subject: String) -> String? {
        let isTheirs = table.owner == nil ? nil : isOwned(table, by: subject)
        guard let read = table.read else { return table.owner == nil ? "true" : isTheirs }
        let condition = read.sql(subject: read.hasSubject ? text(subject) : "")
        // Whoever owns the row needs no answer, which may be an error.
        return isTheirs.map { "CASE WHEN \($0) THEN true ELSE \(condition) END" } ?? condition
    }

    // MARK: Several attachments

    /// The places of those that a column names; each column by itself, so that the database can look for all at once.
    mutating func named(
        _ records: [AttachmentRecord], _ table: UploadTable, _ column: UploadColumn
    ) -> String? {
        var (places, ids, rows, owners): ([String?], [String?], [String?], [String?]) = ([], [], [], [])
        for (place, record) in records.enumerated() {
            let isSame = table.source.name == record.table
            guard let id = ValueConversion.ownerText(record.id, as: column.kind), isSame || table.owner != nil
            else { continue }
            places.append(String(place))
            ids.append(id)
            rows.append(isSame ? record.rowID : nil)
            owners.append(table.owner.flatMap { ValueConversion.ownerText(record.owner, as: $0.kind) })
        }
        guard !places.isEmpty else { return nil }
        var condition = Self.isValue("t.\(column.quoted)", column, "u.id")
        if let owner = table.owner {
            condition +=
                " AND (\(Self.isText("t.\(owner.quoted)", "u.owner")) OR \(Self.isText("t.\(table.id.quoted)", "u.r")))"
        }
        let arrays = [array(places), array(ids), array(rows), array(owners)].joined(separator: ", ")
        return "SELECT u.place FROM unnest(\(arrays)) AS u(place, id, r, owner) WHERE EXISTS "
            + "(SELECT FROM \(table.quoted) AS t WHERE \(condition))"
    }

    /// The places of those whose recorded row is there.
    mutating func there(_ records: [AttachmentRecord], _ table: UploadTable) -> String? {
        var (places, rows): ([String?], [String?]) = ([], [])
        let hasValues = table.id.kind.holdsNames
        for (place, record) in records.enumerated() where table.source.name == record.table {
            guard let row = record.rowID,
                !hasValues || ValueConversion.ownerText(row, as: table.id.kind) != nil
            else { continue }
            places.append(String(place))
            rows.append(row)
        }
        guard !places.isEmpty else { return nil }
        let id = "t.\(table.id.quoted)"
        let condition = hasValues ? Self.isValue(id, table.id, "u.r") : Self.isText(id, "u.r")
        let arrays = [array(places), array(rows)].joined(separator: ", ")
        return "SELECT u.place FROM unnest(\(arrays)) AS u(place, r) WHERE EXISTS "
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
