import PowerSyncBackend
import PowerSyncWire

/// What an operation means for the database, as far as it is told by its parts.
struct FormerPlan: Equatable {
    let index: Int
    let kind: UploadOperationKind
    let table: String
    let id: String
    let columns: [String]
    let values: [String?]
    let parents: [Int: String]
    let isAdjusted: Bool

    init(
        index: Int, kind: UploadOperationKind, table: String, id: String, columns: [String],
        values: [String?], parents: [Int: String], isAdjusted: Bool
    ) {
        self.index = index
        self.kind = kind
        self.table = table
        self.id = id
        self.columns = columns
        self.values = values
        self.parents = parents
        self.isAdjusted = isAdjusted
    }

    init(_ plan: PlannedOperation) {
        self.init(
            index: plan.index, kind: plan.kind, table: plan.table.quoted, id: plan.id,
            columns: plan.columns.map(\.quoted), values: plan.values, parents: plan.parents,
            isAdjusted: plan.isAdjusted)
    }
}

/// The planner as it was before shapes: each operation looks all of its names up, in the order of their bytes.
struct FormerPlanner {
    let tables: UploadTables
    let subject: String

    func plan(_ operation: UploadOperation, at index: Int) throws -> FormerPlan {
        do {
            return try looked(up: operation, index)
        } catch var refusal as Refusal {
            refusal.index = index
            refusal.table = operation.table
            refusal.rowID = operation.id
            throw refusal
        }
    }

    private func looked(up operation: UploadOperation, _ index: Int) throws -> FormerPlan {
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
        var row = Row()
        if operation.kind != .delete { try assign(operation.data ?? [], id, table, &row) }
        if let owner = table.owner {
            let value = try ownerValue(owner)
            if ExactText(owner.name) == ExactText(table.id.name) {
                guard ExactText(id) == ExactText(value) else {
                    throw Refusal(
                        code: "UNAUTHORIZED", message: "only the row of the token's subject may be written")
                }
            } else if operation.kind == .put {
                row.set(owner, value)
            }
        }
        if operation.kind == .put || !row.columns.isEmpty {
            for column in table.assigned { row.set(column, try serverValue(column)) }
        }
        return FormerPlan(
            index: index, kind: operation.kind, table: table.quoted, id: id, columns: row.columns,
            values: row.values, parents: row.parents, isAdjusted: row.isAdjusted)
    }

    private struct Row {
        var columns: [String] = []
        var values: [String?] = []
        var parents: [Int: String] = [:]
        var isAdjusted = false
        var printedLength = 0

        mutating func set(_ column: UploadColumn, _ value: String?) {
            columns.append(column.quoted)
            values.append(value)
        }
    }

    private func assign(_ data: [JSONMember], _ id: String, _ table: UploadTable, _ row: inout Row) throws {
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
                let sent = try? convert(value, column).text
                let own = ExactText(try ownerValue(column))
                if sent.map(ExactText.init) != own { row.isAdjusted = true }
                continue
            }
            switch column.writer {
            case .client:
                let converted = try convert(value, column)
                row.set(column, converted.text)
                try assignParent(column, converted.text, id, table, &row)
                row.isAdjusted = row.isAdjusted || converted.isAdjusted
                row.printedLength += converted.printedLength
                guard row.printedLength <= ValueConversion.rowLimit else {
                    throw Refusal(
                        code: "TOO_LARGE",
                        message:
                            "expected a row of at most \(ValueConversion.rowLimit) bytes as Postgres prints it",
                        column: column.name)
                }
            case .server: row.isAdjusted = true
            case .never:
                throw Refusal(
                    code: "READ_ONLY_COLUMN", message: "clients may not write this column",
                    column: column.name)
            }
        }
    }

    private func assignParent(
        _ column: UploadColumn, _ text: String?, _ id: String, _ table: UploadTable, _ row: inout Row
    ) throws {
        let name = ExactText(column.name)
        guard let text, let place = table.parents.firstIndex(where: { ExactText($0.column.name) == name })
        else { return }
        let parent = table.parents[place]
        if parent.source.name == table.source.name, ExactText(text) == ExactText(id) { return }
        guard ValueConversion.ownerText(subject, as: parent.owner.kind) != nil else {
            throw Refusal(
                code: "PARENT_MISSING", message: "the row that it belongs to does not exist",
                column: column.name)
        }
        row.parents[place] = text
    }

    private func idText(_ value: JSON, _ column: UploadColumn) throws -> String? {
        if case .number(let lexeme) = value { return try convert(.string(lexeme), column).text }
        return try convert(value, column).text
    }

    private func ownerValue(_ column: UploadColumn) throws -> String {
        guard let text = ValueConversion.ownerText(subject, as: column.kind) else {
            throw Refusal(
                code: "UNAUTHORIZED", message: "the token's subject cannot own rows of this table",
                column: column.name)
        }
        return text
    }

    private func serverValue(_ column: UploadColumn) throws -> String {
        guard column.assigned == .subject else { return "now" }
        guard let text = ValueConversion.ownerText(subject, as: column.kind) else {
            throw Refusal(
                code: "UNAUTHORIZED", message: "the token's subject is no value of this column",
                column: column.name)
        }
        return text
    }

    private func convert(_ value: JSON, _ column: UploadColumn) throws -> ConvertedValue {
        do {
            return try ValueConversion.convert(value, as: column.kind, options: column.options)
        } catch {
            throw Refusal(code: error.code, message: error.reason, column: column.name)
        }
    }
}
