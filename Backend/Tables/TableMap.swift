import PowerSyncWire
import PowerSyncYAML

/// A text of the table map with the place where it stands.
package struct Located: Sendable, Hashable {
    /// The text.
    package let text: String
    /// The line, from 1.
    package let line: Int
    /// The column, from 1.
    package let column: Int
}

/// Who writes a column.
package enum ColumnWriter: String, Sendable, Hashable {
    /// The client.
    case client
    /// The server: what a client sends is left out and the operation counts as adjusted.
    case server
    /// Nobody: an operation that names the column is rejected.
    case never
}

/// What the server sets a column to with each row that a client puts or changes (backend 2.5).
package enum ServerValue: String, Sendable, Hashable {
    /// The time at which the transaction began.
    case now
    /// The subject of the token.
    case subject

    /// Whether a column can hold it.
    func fits(_ kind: ColumnKind) -> Bool {
        switch (self, kind) {
        case (.now, .instant), (.now, .timestamp), (.now, .date), (.now, .time): true
        case (.subject, .integer), (.subject, .numeric), (.subject, .uuid), (.subject, .text),
            (.subject, .name),
            (.subject, .paddedText), (.subject, .label), (.subject, .textForm):
            true
        default: false
        }
    }
}

/// The tables and columns that clients may write, as a file says it (backend 2.3).
///
/// ```yaml
/// tables:
///   todos:                 # the client's name
///     table: public.todos  # this is the default
///     id: id               # so is this
///     owner: owner_id      # optional: rows belong to the token's subject; may be the column of the id
///     parents: { list_id: lists }  # optional: columns that name rows of other tables, which must be the caller's
///     ops: [PUT, PATCH, DELETE]
///     attachments: [photo_id]  # optional: columns that hold ids of attachments
///     read: owner_id = :sub OR list_id IN (SELECT id FROM shared WHERE who = :sub)  # optional: who may download them
///     columns:
///       created_at: { write: server }  # or never, or client
///       updated_at: { set: now }       # or subject
///       tags: { json_strings: keep }   # a text is stored as one; parse: as the JSON that it holds
///       photo: { encoding: hex }       # or base64
///       due: { infinity: accept, epoch: ms, empty: null }
/// ```
///
/// Of a table:
/// - `parents`: columns that clients write, each with the client's name of a table of the map that has an owner. An operation
///   that sets one of them to the id of a row which is not there, or another's, is rejected (`PARENT_MISSING`, which tells one
///   from the other nobody); NULL passes. The parent must be there when the row is written, also where the foreign key waits
///   for the end of the transaction.
///
/// Of a column:
/// - `write`: the client (the default), the server, or nobody.
/// - `set`, for a column that clients do not write: what it gets with each PUT, and each PATCH that changes something; `now`,
///   for moments, the time of the transaction, or `subject`, the token's. What a client sends is left out, unless it is
///   `write: never`.
/// - `json_strings`, for json and jsonb: `parse`, the default, stores what a text says and refuses one that is no JSON;
///   `keep` stores the text itself.
/// - `encoding`, for bytea: how a text without `\x` in front spells bytes, `base64` (the default) or `hex`.
/// - `infinity`, for moments and numbers: `accept` lets `infinity`, `-infinity` and a number's `NaN` pass, and takes
///   `9999-12-31 23:59:59Z` and `0000-01-01 00:00:00Z`, which the sync service prints for them, as what they stand for;
///   `refuse` is the default.
/// - `epoch`, for moments: a number counts seconds (`s`) or milliseconds (`ms`) since 1970; without, numbers are refused.
/// - `empty`: `null` stores NULL for an empty text; `keep`, the default, takes it as any other text.
///
/// Of attachments (`Backend/Attachments/SPEC.md` says who may do what):
/// - `attachments`: columns of texts, UUIDs or whole numbers; a row names the attachments whose ids stand in them, spelled as
///   Postgres prints the value. Each of these columns wants an index: every question for a URL looks for the rows that name an
///   id.
/// - `read`: a condition of SQL for a row of the table, by which others than its owner may download what it names. `:sub` is
///   the subject of the token, a text: `:sub::uuid` is another type, which every subject must then be. Columns stand by their
///   names, in queries within the condition behind the name of the table in the database (`todos.list_id`). It runs as
///   uploads do, with the backend's rights and their statement timeout, and is checked at the start.
package struct TableMap: Sendable, Hashable {
    /// One column of the map.
    package struct Column: Sendable, Hashable {
        /// Its name, for the client and in the table.
        package var name: Located
        /// Who writes it; nil leaves it to the column's type.
        package var writer: ColumnWriter?
        /// What the server sets it to; nil leaves that to the database.
        package var assigned: ServerValue?
        /// What is said about its values.
        package var options = ValueOptions()
    }

    /// A column that names rows of another table.
    package struct Parent: Sendable, Hashable {
        /// The column.
        package var column: Located
        /// The client's name of the other table.
        package var table: Located
    }

    /// One table of the map.
    package struct Table: Sendable, Hashable {
        /// The client's name.
        package var name: Located
        /// The schema in the database.
        package var schema: String
        /// The table in the database.
        package var table: Located
        /// The column that holds the client's id.
        package var id: Located
        /// The column that holds the subject of the token whose rows these are.
        package var owner: Located?
        /// The columns that name rows of other tables, which must be the caller's.
        package var parents: [Parent] = []
        /// What clients may do.
        package var operations: Set<UploadOperationKind> = [.put, .patch, .delete]
        /// The columns that differ from the default, which is that the client writes them.
        package var columns: [Column] = []
        /// The columns that hold ids of attachments.
        package var attachments: [Located] = []
        /// The condition by which others than the owner of a row may download its attachments (`ReadCondition`).
        package var read: Located?
    }

    /// The tables in the order of the file.
    package var tables: [Table]

    /// Reads a table map.
    ///
    /// - Parameters:
    ///   - yaml: the text.
    ///   - source: the name of the file, for errors.
    /// - Throws: `BackendError` with `.tableMap`, naming line and column.
    package init(yaml: String, source: String) throws(BackendError) {
        let reader = TableMapReader(source: source)
        let root: YAMLNode?
        do {
            root = try YAMLNode.parse(yaml)
        } catch {
            throw BackendError(.tableMap, "\(source) \(error)", cause: error)
        }
        guard let root else {
            throw BackendError(.tableMap, "\(source) is empty: it needs a member \"tables\"")
        }
        tables = try reader.map(root)
    }

    /// Makes a map of its tables.
    package init(tables: [Table]) { self.tables = tables }
}

private struct TableMapReader {
    let source: String

    func map(_ root: YAMLNode) throws(BackendError) -> [TableMap.Table] {
        var tables: [TableMap.Table] = []
        for (key, value) in try members(root, of: "the table map") {
            guard try text(key).text == "tables" else { throw unknown(key, ["tables"]) }
            for (name, body) in try members(value, of: "tables") { tables.append(try table(name, body)) }
        }
        guard !tables.isEmpty else { throw error(root, "no tables: no client could write anything") }
        for parent in tables.lazy.flatMap(\.parents) { try check(parent, tables) }
        return tables
    }

    /// That the table of a parent is one whose rows are somebody's.
    private func check(_ parent: TableMap.Parent, _ tables: [TableMap.Table]) throws(BackendError) {
        let (name, place) = (parent.table.text, "line \(parent.table.line), column \(parent.table.column)")
        guard let table = tables.first(where: { ExactText($0.name.text) == ExactText(name) }) else {
            throw BackendError(.tableMap, "\(source) \(place): the map has no table \(name)")
        }
        guard table.owner != nil else {
            throw BackendError(
                .tableMap,
                "\(source) \(place): rows of \(name) are nobody's: name its owner, or leave this out")
        }
    }

    private func table(_ key: YAMLNode, _ body: YAMLNode) throws(BackendError) -> TableMap.Table {
        let name = try text(key)
        var table = TableMap.Table(name: name, schema: "public", table: name, id: moved(name, "id"))
        if body.isNull { return table }
        for (key, value) in try members(body, of: name.text) {
            switch try text(key).text {
            case "table": (table.schema, table.table) = try tableName(value)
            case "id": table.id = try text(value)
            case "owner": table.owner = try text(value)
            case "parents": table.parents = try parents(value)
            case "ops": table.operations = try operations(value)
            case "columns":
                for (key, value) in try members(value, of: "columns") {
                    table.columns.append(try column(key, value))
                }
            case "attachments": table.attachments = try attachments(value)
            case "read": table.read = try condition(value)
            default:
                throw unknown(
                    key, ["table", "id", "owner", "parents", "ops", "columns", "attachments", "read"])
            }
        }
        if let read = table.read, table.attachments.isEmpty {
            throw BackendError(
                .tableMap,
                "\(source) line \(read.line), column \(read.column): read says who gets the attachments of a row: name "
                    + "their columns in attachments")
        }
        let taken = ([table.id] + (table.owner.map { [$0] } ?? [])).map { ExactText($0.text) }
        for column in table.columns
        where column.assigned != nil && taken.contains(ExactText(column.name.text)) {
            throw BackendError(
                .tableMap,
                "\(source) line \(column.name.line), column \(column.name.column): what the column of the id or the owner "
                    + "holds is settled already")
        }
        return table
    }

    private func tableName(_ node: YAMLNode) throws(BackendError) -> (String, Located) {
        let whole = try text(node)
        let parts = whole.text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map {
            String($0)
        }
        guard !parts.contains("") else { throw error(node, "expected a table or schema.table") }
        return parts.count == 1 ? ("public", whole) : (parts[0], moved(whole, parts[1]))
    }

    private func operations(_ node: YAMLNode) throws(BackendError) -> Set<UploadOperationKind> {
        guard case .sequence(let items) = node.kind else {
            throw error(node, "expected a list such as [PUT, PATCH]")
        }
        var kinds: Set<UploadOperationKind> = []
        for item in items {
            guard let kind = UploadOperationKind(rawValue: try text(item).text) else {
                throw error(item, "expected PUT, PATCH or DELETE")
            }
            kinds.insert(kind)
        }
        return kinds
    }

    private func parents(_ node: YAMLNode) throws(BackendError) -> [TableMap.Parent] {
        var parents: [TableMap.Parent] = []
        for (key, value) in try members(node, of: "parents") {
            parents.append(TableMap.Parent(column: try text(key), table: try text(value)))
        }
        return parents
    }

    private func attachments(_ node: YAMLNode) throws(BackendError) -> [Located] {
        guard case .sequence(let items) = node.kind, !items.isEmpty else {
            throw error(node, "expected a list of columns such as [photo_id]")
        }
        var columns: [Located] = []
        for item in items {
            let column = try text(item)
            guard !columns.contains(where: { ExactText($0.text) == ExactText(column.text) }) else {
                throw error(item, "\(column.text) stands there twice")
            }
            columns.append(column)
        }
        return columns
    }

    private func condition(_ node: YAMLNode) throws(BackendError) -> Located {
        guard let text = node.string else { throw error(node, "expected a condition of SQL") }
        let place = Located(text: text, line: node.line, column: node.column)
        // What is wrong with it is told before there is a database.
        _ = try ReadCondition.compiled(place, source: source)
        return place
    }

    private func column(_ key: YAMLNode, _ body: YAMLNode) throws(BackendError) -> TableMap.Column {
        var column = TableMap.Column(name: try text(key))
        for (key, value) in try members(body, of: column.name.text) {
            let word = try text(value).text
            switch try text(key).text {
            case "write":
                guard let writer = ColumnWriter(rawValue: word) else {
                    throw error(value, "expected client, server or never")
                }
                column.writer = writer
            case "set":
                column.assigned = try choice(
                    word, value, ["now": ServerValue.now, "subject": .subject], "now or subject")
            case "json_strings":
                column.options.jsonStrings = try choice(
                    word, value, ["parse": .parse, "keep": .keep], "parse or keep")
            case "encoding":
                column.options.encoding = try choice(
                    word, value, ["base64": .base64, "hex": .hex], "base64 or hex")
            case "infinity":
                column.options.hasInfinity = try choice(
                    word, value, ["accept": true, "refuse": false], "accept or refuse")
            case "epoch":
                column.options.epoch = try choice(
                    word, value, ["s": EpochUnit.seconds, "ms": EpochUnit.milliseconds], "s or ms")
            case "empty":
                column.options.emptyIsNull = try choice(
                    word, value, ["null": true, "keep": false], "null or keep")
            default:
                throw unknown(
                    key, ["write", "set", "json_strings", "encoding", "infinity", "epoch", "empty"])
            }
        }
        guard column.assigned != nil else { return column }
        guard column.writer != .client else {
            throw error(key, "a column is set by the server or written by the client, not both")
        }
        column.writer = column.writer ?? .server
        return column
    }

    private func choice<Value>(
        _ word: String, _ node: YAMLNode, _ choices: [String: Value], _ expected: String
    ) throws(BackendError) -> Value {
        guard let value = choices[word] else { throw error(node, "expected \(expected)") }
        return value
    }

    private func members(
        _ node: YAMLNode, of what: String
    ) throws(BackendError) -> [(key: YAMLNode, value: YAMLNode)] {
        guard case .mapping(let members) = node.kind else { throw error(node, "\(what): expected a mapping") }
        return members
    }

    private func text(_ node: YAMLNode) throws(BackendError) -> Located {
        guard let text = node.string, !text.isEmpty else { throw error(node, "expected a name") }
        return Located(text: text, line: node.line, column: node.column)
    }

    private func moved(_ place: Located, _ text: String) -> Located {
        Located(text: text, line: place.line, column: place.column)
    }

    private func unknown(_ key: YAMLNode, _ known: [String]) -> BackendError {
        error(key, "unknown member; known are \(known.joined(separator: ", "))")
    }

    private func error(_ node: YAMLNode, _ message: String) -> BackendError {
        BackendError(.tableMap, "\(source) line \(node.line), column \(node.column): \(message)")
    }
}
