import PowerSyncPostgres
import PowerSyncWire

/// A statement that is being written, with its parameters.
struct AttachmentQuestion {
    private var parameters: [String?] = []

    /// Makes a statement without anything.
    init() {}

    /// The statement; nil for no text.
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

    // MARK: Several attachments about which one table is asked; columns stand by their names, as in the condition of a map

    /// What a list is called, and its columns: as no condition calls anything, or one whose column was dropped would mean
    /// these.
    private static let listName = quoteIdentifier("psb asked")

    private static func column(_ name: String) -> String { quoteIdentifier("psb asked \(name)") }

    /// The attachments that rows of a table may name.
    struct List {
        /// What they are called, with their place, the values of each column, and the id of the row that is preferred.
        let source: String
        /// What their places are called.
        let place: String
        /// That a row names one of them.
        let isNamed: String
        /// That a row is the one that was named.
        let isPreferred: String

        /// A part of a statement: for each of them its place, and the rows of a query about it.
        func branch(_ query: String) -> String {
            "(SELECT \(place), m.* FROM \(source) CROSS JOIN LATERAL (\(query)) AS m(number, owner, id, preferred))"
        }
    }

    /// Makes a list for a table; nil if no column of it can have one of the ids.
    mutating func list(_ asked: [AttachmentAccess.Asked], for table: UploadTable) -> List? {
        var (places, rows): ([String?], [String?]) = ([], [])
        var ids = [[String?]](repeating: [], count: table.attachments.count)
        for (place, one) in asked.enumerated() {
            let values = table.attachments.map { ValueConversion.ownerText(one.id, as: $0.kind) }
            guard values.contains(where: { $0 != nil }) else { continue }
            places.append(String(place))
            for (column, value) in values.enumerated() { ids[column].append(value) }
            let isOfTable = one.row.map { ExactText($0.table) == ExactText(table.name) } == true
            rows.append(isOfTable ? one.row?.id : nil)
        }
        guard !places.isEmpty else { return nil }
        var (columns, arrays) = ([Self.column("place")], [array(places)])
        var conditions: [String] = []
        // A column that none of them fits has no value that is equal to anything.
        for (number, column) in table.attachments.enumerated() {
            columns.append(Self.column("id\(number)"))
            arrays.append(array(ids[number]))
            conditions.append(
                Self.isValue(column.quoted, column, "\(Self.listName).\(Self.column("id\(number)"))"))
        }
        var isPreferred = "false"
        if rows.contains(where: { $0 != nil }) {
            let preferred = Self.column("preferred")
            columns.append(preferred)
            arrays.append(array(rows))
            isPreferred = "coalesce(\(Self.isText(table.id.quoted, "\(Self.listName).\(preferred)")), false)"
        }
        let (values, names) = (arrays.joined(separator: ", "), columns.joined(separator: ", "))
        return List(
            source: "unnest(\(values)) AS \(Self.listName)(\(names))",
            place: "\(Self.listName).\(Self.column("place"))",
            isNamed: "(" + conditions.joined(separator: " OR ") + ")", isPreferred: isPreferred)
    }

    /// What `AttachmentAccess.Row` is made of.
    func columns(_ number: Int, _ table: UploadTable, _ list: List) -> String {
        let owner = table.owner.map { "\($0.quoted)::text" } ?? "NULL::text"
        return "'\(number)'::text, \(owner), \(table.id.quoted)::text, \(list.isPreferred)"
    }

    // MARK: One attachment

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

    /// That the rows which a row names as its parents are the subject's, too: what is to be added to a condition.
    ///
    /// Columns stand behind the name of their table: the parent's may have some of the same names.
    mutating func parentsAreOwned(_ table: UploadTable, by subject: String) -> String {
        let other = quoteIdentifier("psb parent")
        var conditions = ""
        for parent in table.parents {
            let value = "\(table.quoted).\(parent.column.quoted)"
            conditions += " AND (\(value) IS NULL"
            if let owner = ValueConversion.ownerText(subject, as: parent.owner.kind) {
                let isTheirs = Self.isText("\(other).\(parent.owner.quoted)", text(owner))
                conditions +=
                    " OR EXISTS (SELECT FROM \(parent.quoted) AS \(other)"
                    + " WHERE \(other).\(parent.id.quoted) = \(value) AND \(isTheirs))"
            }
            conditions += ")"
        }
        return conditions
    }

    /// That a subject meets the condition of a table; nil if it has none.
    ///
    /// The subject stands in a question of its own, so that the database does not compute with it before it has found a row.
    mutating func condition(_ table: UploadTable, _ subject: String) -> String? {
        guard let read = table.read else { return nil }
        return read.sql(subject: read.hasSubject ? ReadCondition.place(of: text(subject)) : "")
    }

    // MARK: Several attachments about which each column is asked

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
