import PowerSyncWire

/// One operation whose names are looked up and whose values are converted.
package struct PlannedOperation: Sendable, Hashable {
    /// The index in the transaction.
    package let index: Int
    /// What it does.
    package let kind: UploadOperationKind
    /// Its table.
    package let table: UploadTable
    /// The id as Postgres reads it.
    package let id: String
    /// The columns that it sets, in one order for all operations of the same columns.
    package let columns: [UploadColumn]
    /// The values of `columns`.
    package let values: [String?]
    /// The rows of other tables that it names, as Postgres reads their ids, by the place of the parent in those of the table.
    package let parents: [Int: String]
    /// Whether something that the client sent is left out or stored differently.
    package let isAdjusted: Bool

    /// Whether this is a PATCH that changes nothing.
    package var isEmpty: Bool { kind == .patch && columns.isEmpty }
}

/// Decides what a transaction means for the database, without asking it (backend 2.2 to 2.5).
package struct UploadPlanner: Sendable {
    /// The tables that uploads may write.
    package var tables: UploadTables
    /// The token's subject.
    package var subject: String

    /// Makes a planner for one caller.
    package init(tables: UploadTables, subject: String) {
        self.tables = tables
        self.subject = subject
    }

    /// Plans one operation.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - index: its place in the transaction.
    /// - Returns: the plan.
    /// - Throws: `Refusal`, naming the operation.
    package func plan(_ operation: UploadOperation, at index: Int) throws(Refusal) -> PlannedOperation {
        do {
            return try looked(up: operation, index)
        } catch {
            var refusal = error
            refusal.index = index
            refusal.table = operation.table
            refusal.rowID = operation.id
            throw refusal
        }
    }

    private func looked(up operation: UploadOperation, _ index: Int) throws(Refusal) -> PlannedOperation {
        guard let table = tables.tables[ExactText(operation.table)] else {
            throw Refusal(
                code: "UNKNOWN_TABLE", message: "no such table may be written",
                unknown: CatalogKnowledge.Name(table: operation.table))
        }
        guard table.operations.contains(operation.kind) else {
            throw Refusal(
                code: "OPERATION_NOT_ALLOWED",
                message: "\(operation.kind.rawValue) is not allowed on this table")
        }
        guard (1...255).contains(operation.id.utf8.count) else {
            throw Refusal(code: "INVALID_DATA", message: "an id has 1 to 255 bytes")
        }
        let id = try convert(.string(operation.id), table.id).text ?? ""
        var assignments = Assignments()
        if operation.kind != .delete { try assign(operation.data ?? [], id, table, &assignments) }
        if let owner = table.owner {
            // Who cannot own rows of the table cannot change them either.
            let value = try ownerValue(owner)
            if ExactText(owner.name) == ExactText(table.id.name) {
                guard ExactText(id) == ExactText(value) else {
                    throw Refusal(
                        code: "UNAUTHORIZED", message: "only the row of the token's subject may be written")
                }
            } else if operation.kind == .put {
                assignments.set(owner, value)
            }
        }
        // A PATCH that changes nothing stays one.
        if operation.kind == .put || !assignments.columns.isEmpty {
            for column in table.assigned { assignments.set(column, try serverValue(column)) }
        }
        return PlannedOperation(
            index: index, kind: operation.kind, table: table, id: id, columns: assignments.columns,
            values: assignments.values, parents: assignments.parents, isAdjusted: assignments.isAdjusted)
    }

    private func assign(
        _ data: [JSONMember], _ id: String, _ table: UploadTable, _ assignments: inout Assignments
    ) throws(Refusal) {
        let (idName, ownerName) = (ExactText(table.id.name), table.owner.map { ExactText($0.name) })
        var last: [ExactText: JSON] = [:]
        for member in data { last[ExactText(member.name)] = member.value }
        for (name, value) in last.sorted(by: { $0.key < $1.key }) {
            if name == ExactText("id") || name == idName {
                guard try idText(value, table.id).map(ExactText.init) == ExactText(id) else {
                    throw Refusal(
                        code: "ID_MISMATCH", message: "the id in the data is not that of the operation")
                }
                continue
            }
            guard let column = table.columns[name] else {
                throw Refusal(
                    code: "UNKNOWN_COLUMN", message: "no such column may be written",
                    unknown: CatalogKnowledge.Name(table: table.name, column: name.text))
            }
            if name == ownerName {
                // The owner comes from the token; a claim to be somebody else changes nothing.
                let sent = try? convert(value, column).text  // nil: not even a value of the column's type
                if sent.map(ExactText.init) != ExactText(try ownerValue(column)) {
                    assignments.isAdjusted = true
                }
                continue
            }
            switch column.writer {
            case .client:
                let converted = try convert(value, column)
                assignments.set(column, converted.text)
                try assignParent(column, converted.text, id, table, &assignments)
                assignments.isAdjusted = assignments.isAdjusted || converted.isAdjusted
                assignments.printedLength += converted.printedLength
                guard assignments.printedLength <= ValueConversion.rowLimit else {
                    throw Refusal(
                        code: "TOO_LARGE",
                        message:
                            "expected a row of at most \(ValueConversion.rowLimit) bytes as Postgres prints it",
                        column: column.name)
                }
            case .server: assignments.isAdjusted = true
            case .never:
                throw Refusal(
                    code: "READ_ONLY_COLUMN", message: "clients may not write this column",
                    column: column.name)
            }
        }
    }

    /// Notes the row of another table that a value names.
    private func assignParent(
        _ column: UploadColumn, _ text: String?, _ id: String, _ table: UploadTable,
        _ assignments: inout Assignments
    ) throws(Refusal) {
        let name = ExactText(column.name)
        guard let text, let place = table.parents.firstIndex(where: { ExactText($0.column.name) == name })
        else { return }
        let parent = table.parents[place]
        // A row that is its own parent is the caller's if it is written at all.
        if parent.source.name == table.source.name, ExactText(text) == ExactText(id) { return }
        _ = try owner(of: parent)
        assignments.parents[place] = text
    }

    private func idText(_ value: JSON, _ column: UploadColumn) throws(Refusal) -> String? {
        if case .number(let lexeme) = value { return try convert(.string(lexeme), column).text }
        return try convert(value, column).text
    }

    private func ownerValue(_ column: UploadColumn) throws(Refusal) -> String {
        guard let text = ValueConversion.ownerText(subject, as: column.kind) else {
            throw Refusal(
                code: "UNAUTHORIZED", message: "the token's subject cannot own rows of this table",
                column: column.name)
        }
        return text
    }

    private func serverValue(_ column: UploadColumn) throws(Refusal) -> String {
        // Postgres reads this text as the time at which the transaction began.
        guard column.assigned == .subject else { return "now" }
        guard let text = ValueConversion.ownerText(subject, as: column.kind) else {
            throw Refusal(
                code: "UNAUTHORIZED", message: "the token's subject is no value of this column",
                column: column.name)
        }
        return text
    }

    private func convert(_ value: JSON, _ column: UploadColumn) throws(Refusal) -> ConvertedValue {
        do {
            return try ValueConversion.convert(value, as: column.kind, options: column.options)
        } catch {
            throw Refusal(code: error.code, message: error.reason, column: column.name)
        }
    }

    /// Returns the owner's value for the rows of a parent, to be compared in SQL.
    ///
    /// To whom none of them can belong all of them are missing.
    func owner(of parent: UploadParent) throws(Refusal) -> String {
        guard let text = ValueConversion.ownerText(subject, as: parent.owner.kind) else {
            throw Refusal.missing(parent)
        }
        return text
    }

    /// Returns the owner's value for a table that has owners, to be compared in SQL; nil for others.
    package func owner(of table: UploadTable) throws(Refusal) -> String? {
        guard let owner = table.owner else { return nil }
        return try ownerValue(owner)
    }
}

private struct Assignments {
    var columns: [UploadColumn] = []
    var values: [String?] = []
    var parents: [Int: String] = [:]
    var isAdjusted = false
    /// At least what Postgres prints of the values.
    var printedLength = 0

    mutating func set(_ column: UploadColumn, _ value: String?) {
        columns.append(column)
        values.append(value)
    }
}
