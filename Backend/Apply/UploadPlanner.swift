import PowerSyncWire

/// One operation whose names are looked up and whose values are converted.
package struct PlannedOperation: Sendable, Hashable {
    /// The index in the transaction.
    package let index: Int
    /// What it has in common with others of its names.
    package let shape: PlanShape
    /// The id as Postgres reads it.
    package let id: String
    /// The values of `columns`.
    package let values: [String?]
    /// The rows of other tables that it names, as Postgres reads their ids, by the place of the parent in those of the table.
    package let parents: [Int: String]
    /// Whether something that the client sent is left out or stored differently.
    package let isAdjusted: Bool

    /// What it does.
    package var kind: UploadOperationKind { shape.kind }
    /// Its table.
    package var table: UploadTable { shape.table }
    /// The columns that it sets, in one order for all operations of the same columns.
    package var columns: [UploadColumn] { shape.columns }
    /// Whether this is a PATCH that changes nothing.
    package var isEmpty: Bool { shape.kind == .patch && shape.columns.isEmpty }
}

/// Decides what a transaction means for the database, without asking it (backend 2.2 to 2.5).
package struct UploadPlanner: Sendable {
    /// The tables that uploads may write.
    package let tables: UploadTables
    /// The token's subject.
    package let subject: String
    private let shapes: PlanShapes
    private let owners: SubjectTexts

    /// Makes a planner for one caller.
    ///
    /// - Parameters:
    ///   - tables: the tables that uploads may write.
    ///   - subject: the token's subject.
    package init(tables: UploadTables, subject: String) {
        self.init(shapes: PlanShapes(tables), subject: subject)
    }

    /// Makes a planner for one caller that looks nothing up again which others have found.
    ///
    /// - Parameters:
    ///   - shapes: the tables that uploads may write, with what was found in them.
    ///   - subject: the token's subject.
    package init(shapes: PlanShapes, subject: String) {
        self.shapes = shapes
        self.subject = subject
        tables = shapes.tables
        owners = SubjectTexts(subject)
    }

    /// Plans one operation.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - index: its place in the transaction.
    ///   - shape: that of an operation before it, planned here: most have the same.
    /// - Returns: the plan.
    /// - Throws: `Refusal`, naming the operation.
    package func plan(
        _ operation: UploadOperation, at index: Int, like shape: PlanShape? = nil
    ) throws(Refusal) -> PlannedOperation {
        do {
            return try looked(up: operation, index, shape)
        } catch {
            var refusal = error
            refusal.index = index
            refusal.table = operation.table
            refusal.rowID = operation.id
            throw refusal
        }
    }

    private func looked(
        up operation: UploadOperation, _ index: Int, _ former: PlanShape?
    ) throws(Refusal) -> PlannedOperation {
        let shape = try shapes.shape(of: operation, like: former)
        guard (1...255).contains(operation.id.utf8.count) else {
            throw Refusal(code: "INVALID_DATA", message: "an id has 1 to 255 bytes")
        }
        let id = try convert(.string(operation.id), shape.table.id).text ?? ""
        var row = ConvertedRow(columns: shape.columns.count)
        if operation.kind != .delete { try convert(operation.data ?? [], id, shape, &row) }
        if let owner = shape.table.owner {
            // Who cannot own rows of the table cannot change them either.
            let value = try ownerValue(owner)
            if ExactText(owner.name) == ExactText(shape.table.id.name) {
                guard ExactText(id) == ExactText(value) else {
                    throw Refusal(
                        code: "UNAUTHORIZED", message: "only the row of the token's subject may be written")
                }
            } else if shape.setsOwner {
                row.values.append(value)
            }
        }
        for column in shape.columns.dropFirst(row.values.count) {
            row.values.append(try serverValue(column))
        }
        return PlannedOperation(
            index: index, shape: shape, id: id, values: row.values, parents: row.parents,
            isAdjusted: row.isAdjusted)
    }

    private func convert(
        _ data: [JSONMember], _ id: String, _ shape: PlanShape, _ row: inout ConvertedRow
    ) throws(Refusal) {
        for (place, step) in shape.steps {
            let value = data[place].value
            switch step {
            case .id:
                guard try idText(value, shape.table.id).map(ExactText.init) == ExactText(id) else {
                    throw Refusal(
                        code: "ID_MISMATCH", message: "the id in the data is not that of the operation")
                }
            case .owner(let column):
                // The owner comes from the token; a claim to be somebody else changes nothing.
                let sent = try? convert(value, column).text  // nil: not even a value of the column's type
                if sent.map(ExactText.init) != ExactText(try ownerValue(column)) { row.isAdjusted = true }
            case .value(let index, let parent):
                let converted = try convert(value, in: shape, index)
                row.values.append(converted.text)
                if let parent, let text = converted.text {
                    try name(parent, text, id, shape.table, &row)
                }
                row.isAdjusted = row.isAdjusted || converted.isAdjusted
                row.printedLength += converted.printedLength
                guard row.printedLength <= ValueConversion.rowLimit else {
                    throw Refusal(
                        code: "TOO_LARGE",
                        message:
                            "expected a row of at most \(ValueConversion.rowLimit) bytes as Postgres prints it",
                        column: shape.columns[index].name)
                }
            case .server: row.isAdjusted = true
            case .refused(let refusal): throw refusal
            }
        }
    }

    /// Notes the row of another table that a value names.
    private func name(
        _ place: Int, _ text: String, _ id: String, _ table: UploadTable, _ row: inout ConvertedRow
    ) throws(Refusal) {
        let parent = table.parents[place]
        // A row that is its own parent is the caller's if it is written at all.
        if parent.source.name == table.source.name, ExactText(text) == ExactText(id) { return }
        _ = try owner(of: parent)
        row.parents[place] = text
    }

    private func idText(_ value: JSON, _ column: UploadColumn) throws(Refusal) -> String? {
        if case .number(let lexeme) = value { return try convert(.string(lexeme), column).text }
        return try convert(value, column).text
    }

    private func ownerValue(_ column: UploadColumn) throws(Refusal) -> String {
        guard let text = owners.text(as: column.kind) else {
            throw Refusal(
                code: "UNAUTHORIZED", message: "the token's subject cannot own rows of this table",
                column: column.name)
        }
        return text
    }

    private func serverValue(_ column: UploadColumn) throws(Refusal) -> String {
        // Postgres reads this text as the time at which the transaction began.
        guard column.assigned == .subject else { return "now" }
        guard let text = owners.text(as: column.kind) else {
            throw Refusal(
                code: "UNAUTHORIZED", message: "the token's subject is no value of this column",
                column: column.name)
        }
        return text
    }

    /// Converts the value of one of the columns that are set, which is not copied for it.
    private func convert(
        _ value: JSON, in shape: PlanShape, _ column: Int
    ) throws(Refusal) -> ConvertedValue {
        do {
            return try ValueConversion.convert(
                value, as: shape.columns[column].kind, options: shape.columns[column].options)
        } catch {
            throw Refusal(code: error.code, message: error.reason, column: shape.columns[column].name)
        }
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
        guard let text = owners.text(as: parent.owner.kind) else {
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

/// What the values of an operation have become so far.
private struct ConvertedRow {
    var values: [String?] = []
    var parents: [Int: String] = [:]
    var isAdjusted = false
    /// At least what Postgres prints of the values.
    var printedLength = 0

    init(columns: Int) { values.reserveCapacity(columns) }
}
