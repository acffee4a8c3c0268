import PowerSyncSQLite
import PowerSyncWire

/// Writes synced rows into raw tables (client-core 3.2); make one for each apply, inside `applyingSync`.
package struct RawTableWriter {
    private let connection: SQLiteConnection
    private let name: String
    private let put: PreparedRow
    private let delete: PreparedRow

    private struct PreparedRow {
        let statement: SQLiteStatement
        let parameters: [RawStatement.Parameter]
    }

    /// Prepares the statements of one raw table, inferring those it lacks.
    ///
    /// - Parameters:
    ///   - table: The definition.
    ///   - connection: The writer, with the core installed.
    /// - Throws: code 3091 for a definition that does not fit, and SQLite's errors.
    package init(_ table: RawTableDefinition, on connection: SQLiteConnection) throws {
        self.connection = connection
        name = table.name
        let core = try CoreExtension.of(connection)
        func statement(_ given: RawStatement?, _ inferred: (RawTableInference) -> RawStatement) throws
            -> PreparedRow
        {
            let raw = try given ?? inferred(core.inferred.inference(for: table, on: connection))
            let statement = try connection.prepare(raw.sql)
            guard statement.parameterCount == raw.parameters.count else {
                throw CoreError.argument(
                    "Statement \(raw.sql) has \(statement.parameterCount) parameters, "
                        + "but \(raw.parameters.count) values were provided as sources.")
            }
            return PreparedRow(statement: statement, parameters: raw.parameters)
        }
        put = try statement(table.put) { $0.put }
        delete = try statement(table.delete) { $0.delete }
        guard delete.parameters.allSatisfy({ $0 == .id }) else {
            throw CoreError.argument("Raw delete statement parameters must only reference id")
        }
    }

    /// Writes one row.
    ///
    /// - Parameters:
    ///   - id: Its id.
    ///   - data: Its JSON, as received.
    /// - Throws: the error of the statement, with the row as its context.
    package func put(id: String, data: String) throws {
        try inContext("replacing into \(name), id = \(id), data = \(data)") {
            try put.statement.run(try Self.values(put.parameters, id: id, data: data))
        }
    }

    /// Removes one row.
    ///
    /// - Parameter id: Its id.
    /// - Throws: the error of the statement, with the row as its context.
    package func delete(id: String) throws {
        try inContext("deleting from \(name), id = \(id)") {
            try delete.statement.run(delete.parameters.map { _ in .text(id) })
        }
    }

    /// Computes what is bound for a row; whole numbers stay integers (client-core Q3).
    static func values(
        _ parameters: [RawStatement.Parameter], id: String, data: String
    ) throws(SQLiteError) -> [SQLiteValue] {
        let json: JSON
        do { json = try JSON.parse(data) } catch { throw CoreError.corrupt(error.message) }
        guard let members = json.objectMembers else {
            throw CoreError.corrupt("expected oplog data to be an object")
        }
        return parameters.map { parameter in
            switch parameter {
            case .id: .text(id)
            case .column(let name): value(json[name])
            case .rest: rest(members, parameters)
            }
        }
    }

    private static func value(_ json: JSON?) -> SQLiteValue {
        switch json {
        case .bool(let bool): .integer(bool ? 1 : 0)
        case .number(let lexeme): Int64(lexeme).map { .integer($0) } ?? .real(Double(lexeme) ?? 0)
        case .string(let text): .text(text)
        case .null, .array, .object, nil: .null
        }
    }

    private static func rest(_ members: [JSONMember], _ parameters: [RawStatement.Parameter]) -> SQLiteValue {
        var rest: [ExactText: JSON] = [:]
        for member in members { rest[ExactText(member.name)] = member.value }
        for parameter in parameters {
            switch parameter {
            case .id: rest[ExactText("id")] = nil
            case .column(let name): rest[ExactText(name)] = nil
            case .rest: break
            }
        }
        if rest.isEmpty { return .null }
        let sorted = rest.sorted { $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8) }
        return .text(JSON.object(sorted.map { JSONMember($0.key.text, $0.value) }).text)
    }

    private func inContext(_ context: @autoclosure () -> String, _ body: () throws -> Void) throws {
        do { try body() } catch let error as SQLiteError {
            throw SQLiteError(
                extendedCode: error.extendedCode, message: error.message, offset: error.offset,
                sql: error.sql,
                context: context())
        }
    }
}
