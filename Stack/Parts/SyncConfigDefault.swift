/// The sync configuration of somebody who gave none.
enum SyncConfigDefault {
    /// Sends every table to everyone.
    ///
    /// - Parameter tables: the published tables, schema and name.
    /// - Returns: a Sync Streams configuration of edition 3.
    /// - Throws: `StackError` if there is no table.
    static func everything(_ tables: [PublishedTable]) throws -> String {
        guard !tables.isEmpty else {
            throw StackError(
                .database,
                "the publication powersync has no table yet: create tables first, or give --schema FILE.sql or "
                    + "--sync-config FILE.yaml")
        }
        let queries = tables.map { table in
            let name =
                table.schema == "public"
                ? quoted(table.name) : "\(quoted(table.schema)).\(quoted(table.name))"
            return "      - SELECT * FROM \(name)"
        }
        return """
            config:
              edition: 3
            streams:
              everything:
                auto_subscribe: true
                queries:
            \(queries.joined(separator: "\n"))

            """
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

/// A table of the publication.
struct PublishedTable: Sendable, Hashable {
    /// Its schema.
    let schema: String
    /// Its name.
    let name: String
}
