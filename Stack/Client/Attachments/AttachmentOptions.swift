import PowerSync

/// Which files a client is to have, and how many it keeps that nothing names any more.
package struct AttachmentOptions: Sendable, Equatable {
    /// How many files are kept unless said otherwise, as in the SDK.
    private static let standardCacheLimit: Int64 = 100

    /// The query of their ids, without a semicolon at its end.
    package let query: String
    /// How many files are kept that no row names.
    package let cacheLimit: Int64

    /// Makes options.
    ///
    /// - Parameters:
    ///   - query: the query of the ids; a column is called `id`, and others may be `file_extension`, `filename`,
    ///   `media_type` and `meta_data`.
    ///   - cacheLimit: how many files are kept that no row names; nil for the usual number.
    package init(_ query: String, cacheLimit: Int64? = nil) {
        var query = query[...]
        while let last = query.last, last.isWhitespace || last == ";" { query.removeLast() }
        self.query = String(query)
        self.cacheLimit = cacheLimit ?? Self.standardCacheLimit
    }

    /// The query as a table of another one; what ends with a comment does not comment out what follows.
    var subquery: String { "(\(query)\n)" }

    /// Returns a schema that has the table of attachments.
    ///
    /// - Parameters:
    ///   - schema: the tables of a file.
    ///   - path: the file.
    /// - Returns: the schema with the table, unless it has one.
    /// - Throws: `StackError` with `.file` for another table of its name.
    static func completing(_ schema: Schema, from path: String) throws(StackError) -> Schema {
        let table = createAttachmentTable(name: defaultAttachmentsTableName)
        let others = schema.tables.filter { $0.viewName == table.name || $0.name == table.name }
        if others.isEmpty {
            return Schema(tables: schema.tables + [table], rawTables: schema.rawTables)
        }
        func described(_ columns: [Column]) -> Set<String> { Set(columns.map { "\($0.name) \($0.type)" }) }
        let isTheSame = others.allSatisfy { other in
            other.localOnly && other.name == table.name && other.viewName == table.name
                && described(other.columns).isSuperset(of: described(table.columns))
        }
        guard isTheSame else {
            let columns = table.columns.map { "\($0.name) (\($0.type))" }.joined(separator: ", ")
            throw StackError(
                .file,
                "\(path): the table \(table.name) is where attachments are kept: leave it out, or make it local_only "
                    + "with the columns \(columns)")
        }
        return schema
    }
}
