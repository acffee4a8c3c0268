import PowerSyncPostgres
import PowerSyncWire

/// The questions about who may do what with attachments, one statement each (`SPEC.md`).
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

    /// An attachment that is asked about, of several.
    package struct Asked: Sendable, Hashable {
        /// Its id.
        package var id: String
        /// A row that is taken before others.
        package var row: RowName?

        /// Makes it of its parts.
        package init(id: String, row: RowName? = nil) {
            self.id = id
            self.row = row
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

    // MARK: Several ids

    /// Asks, of several attachments, for rows that name them and belong to the subject, as do their parents.
    ///
    /// - Parameters:
    ///   - asked: the attachments.
    ///   - subject: who asks.
    ///   - orEverybodys: whether rows are asked for, too, that are everybody's without a condition.
    /// - Returns: a statement, whose answer `rows` reads.
    package func own(
        _ asked: [Asked], by subject: String, orEverybodys: Bool = false
    ) -> PostgresStatement? {
        var question = AttachmentQuestion()
        var branches: [String] = []
        for (number, table) in tables.enumerated()
        where table.owner != nil || (orEverybodys && table.read == nil) {
            // Postgres refuses parameters that nothing stands for: a table that cannot have a row adds none.
            var attempt = question
            guard let list = attempt.list(asked, for: table),
                let isTheirs = attempt.isOwned(table, by: subject)
            else { continue }
            let haveParents = attempt.parentsAreOwned(table, by: subject)
            question = attempt
            branches.append(
                list.branch(
                    "SELECT \(question.columns(number, table, list)) FROM \(table.quoted) "
                        + "WHERE \(list.isNamed) AND \(isTheirs)\(haveParents) ORDER BY 4 DESC LIMIT 1"))
        }
        return question.statement(branches.joined(separator: " UNION ALL "))
    }

    /// Asks, of several attachments, for rows that name them and for which a subject meets the condition of their table, or that
    /// are everybody's without one.
    ///
    /// Which files there are makes no difference to it: a condition that fails says nothing of that. What belongs to the subject
    /// is not asked for, see `own`.
    ///
    /// - Parameters:
    ///   - asked: the attachments.
    ///   - subject: who asks.
    ///   - areEverybodys: whether only rows are asked for that belong to nobody.
    /// - Returns: a statement, whose answer `rows` reads.
    package func readable(
        _ asked: [Asked], by subject: String, areEverybodys: Bool = false
    ) -> PostgresStatement? {
        var question = AttachmentQuestion()
        var branches: [String] = []
        for (number, table) in tables.enumerated() where table.owner == nil || !areEverybodys {
            var attempt = question
            guard let list = attempt.list(asked, for: table),
                let condition = attempt.condition(table, subject) ?? (table.owner == nil ? "true" : nil)
            else { continue }
            // The condition is for the rows alone that it is about, however the database finds them.
            var isAsked = list.isNamed
            if let owner = table.owner {
                isAsked += " AND \(owner.quoted) IS NOT NULL"
                if let isTheirs = attempt.isOwned(table, by: subject) { isAsked += " AND NOT \(isTheirs)" }
            }
            question = attempt
            let which =
                "WHERE \(list.isNamed) AND CASE WHEN \(isAsked) THEN \(condition) ELSE false END ORDER BY 4 DESC"
            if let owner = table.owner {
                branches.append(
                    list.branch(
                        "SELECT DISTINCT '\(number)'::text, \(owner.quoted)::text COLLATE pg_catalog.\"C\", NULL::text, "
                            + "\(list.isPreferred) FROM \(table.quoted) \(which) LIMIT \(Self.mostOwners)"))
            } else {
                branches.append(
                    list.branch(
                        "SELECT \(question.columns(number, table, list)) FROM \(table.quoted) \(which) LIMIT 1"
                    ))
            }
        }
        return question.statement(branches.joined(separator: " UNION ALL "))
    }

    /// Reads the answer to `own` or `readable`.
    ///
    /// - Parameters:
    ///   - answer: the answer; nil where nobody was asked.
    ///   - count: how many attachments were asked about.
    /// - Returns: the rows of each, in the order of the question.
    func rows(_ answer: PostgresResult?, of count: Int) -> [[Row]] {
        var rows = [[Row]](repeating: [], count: count)
        guard let answer else { return rows }
        for row in 0..<answer.rowCount {
            guard let place = answer[row, 0].flatMap({ Int($0) }), rows.indices.contains(place),
                let number = answer[row, 1].flatMap({ Int($0) }), tables.indices.contains(number)
            else { continue }
            rows[place].append(
                Row(
                    table: tables[number], owner: answer[row, 2], id: answer[row, 3],
                    isPreferred: answer[row, 4] == "t"))
        }
        return rows
    }

    // MARK: One attachment

    /// Asks whether a row names an attachment for which its uploader must keep it.
    ///
    /// Those are his own rows, those that share it, and all others that are everybody's and that he can see, and so change.
    ///
    /// - Parameter record: the attachment.
    /// - Returns: a statement with `t` or `f`.
    package func needed(_ record: AttachmentRecord) -> PostgresStatement? {
        var question = AttachmentQuestion()
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
        var question = AttachmentQuestion()
        var branches: [String] = []
        for table in some ?? tables {
            for column in table.attachments {
                if let branch = question.named(records, table, column) { branches.append(branch) }
            }
        }
        return question.statement(branches.joined(separator: " UNION "))
    }
}
