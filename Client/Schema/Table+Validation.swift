/// What is wrong with a table.
public enum TableError: Error {
    /// More than 63 columns, as many as the official SDKs for Apple platforms allow.
    case tooManyColumns(tableName: String, count: Int)
    /// The name of the table has a forbidden character; nothing throws it, since a table is called as the sync
    /// configuration calls it.
    case invalidTableName(tableName: String)
    /// The name of the view has a forbidden character.
    case invalidViewName(viewName: String)
    /// The name of a column has a forbidden character.
    case invalidColumnName(tableName: String, columnName: String)
    /// Two columns have one name.
    case duplicateColumn(tableName: String, columnName: String)
    /// A column is named `id`, which every table has by itself.
    case customIdColumn(tableName: String)
    /// Two indexes have one name.
    case duplicateIndex(tableName: String, indexName: String)
    /// The name of an index has a forbidden character.
    case invalidIndexName(tableName: String, indexName: String)
    /// An index names a column that the table lacks.
    case columnNotFound(tableName: String, columnName: String, indexName: String)
    /// A table that is never uploaded cannot track metadata.
    case metadataForLocalTable(tableName: String)
    /// A table that is never uploaded cannot track previous values.
    case trackPreviousForLocalTable(tableName: String)
}

private let maximumColumns = 63

extension Table {
    /// Checks the options of the table and the names of its view, columns and indexes.
    ///
    /// - Throws: ``TableError``, for the first rule that is broken. A database logs that as a warning, and uses the
    ///   table nevertheless.
    public func validate() throws {
        if columns.count > maximumColumns {
            throw TableError.tooManyColumns(tableName: name, count: columns.count)
        }
        if let viewNameOverride, hasForbiddenCharacter(viewNameOverride) {
            throw TableError.invalidViewName(viewName: viewNameOverride)
        }
        if localOnly {
            if trackPreviousValues != nil { throw TableError.trackPreviousForLocalTable(tableName: name) }
            if trackMetadata { throw TableError.metadataForLocalTable(tableName: name) }
        }
        let columnNames = try checkColumns()
        try checkIndexes(columnNames)
    }

    private func checkColumns() throws -> Set<String> {
        var names: Set<String> = []
        for column in columns {
            if column.name == "id" { throw TableError.customIdColumn(tableName: name) }
            if !names.insert(column.name).inserted {
                throw TableError.duplicateColumn(tableName: name, columnName: column.name)
            }
            if hasForbiddenCharacter(column.name) {
                throw TableError.invalidColumnName(tableName: name, columnName: column.name)
            }
        }
        return names
    }

    private func checkIndexes(_ columnNames: Set<String>) throws {
        var names: Set<String> = []
        for index in indexes {
            if !names.insert(index.name).inserted {
                throw TableError.duplicateIndex(tableName: name, indexName: index.name)
            }
            if hasForbiddenCharacter(index.name) {
                throw TableError.invalidIndexName(tableName: name, indexName: index.name)
            }
            for column in index.columns where !columnNames.contains(column.column) {
                throw TableError.columnNotFound(
                    tableName: name, columnName: column.column, indexName: index.name)
            }
        }
    }
}

private func hasForbiddenCharacter(_ name: String) -> Bool {
    name.contains { $0.isWhitespace || #""'%,.#[]"#.contains($0) }
}
