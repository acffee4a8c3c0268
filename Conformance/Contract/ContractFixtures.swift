import PowerSyncWire
import PowerSyncYAML

/// How a team's backend calls what cases are about (backend 9.1).
package struct ContractFixtures: Sendable {
    /// One logical table.
    package struct Table: Sendable {
        /// The client's name of it.
        package let name: String
        /// Schema and table in the database, as they stand in SQL.
        package let relation: String
        /// The column of the id in the database.
        package let id: String
        /// The client's names of columns that have another one than the logical.
        package let columns: [String: String]
        /// The names of columns in the database that have another one than the client's.
        package let stored: [String: String]
    }

    /// The tables by their logical names, such as `lists`; cases say which they need.
    package let tables: [String: Table]
    /// The paths of routes that may be elsewhere.
    package let paths: [String: String]
    /// The question of SQL for the number of a user's dead letters (`$1`); nil where nobody can tell.
    package let letters: String?

    /// The paths of the contract (backend 1.4).
    private static let standardPaths = [
        "upload": "/api/data", "token": "/api/auth/token", "keys": "/api/auth/keys",
        "readiness": "/readyz", "capabilities": "/api/capabilities",
        "checkpoint": "/api/data/checkpoint", "checkpoint_request": "/api/data/checkpoint-request",
        "rejections": "/api/v1/rejections",
    ]

    /// Reads fixtures.
    ///
    /// - Parameters:
    ///   - yaml: The text, in the form of README.md beside the catalogue.
    ///   - source: The name of the file, for errors.
    /// - Throws: `ContractError` with line and column.
    package init(yaml: String, source: String) throws(ContractError) {
        let reader = CaseReader(source: source)
        let root = try reader.root(yaml)
        var tables: [String: Table] = [:]
        var paths = Self.standardPaths
        var letters: String?
        for (key, value) in try reader.members(root, "fixtures") {
            switch try reader.text(key) {
            case "tables":
                for (name, body) in try reader.members(value, "tables") {
                    let logical = try reader.text(name)
                    tables[logical] = try Self.table(body, logical, reader)
                }
            case "paths": paths.merge(try reader.texts(value)) { $1 }
            case "letters": letters = try reader.text(value)
            default: throw reader.error(key, "unknown member; known are tables, paths and letters")
            }
        }
        self.tables = tables
        self.paths = paths
        self.letters = letters
    }

    private static func table(
        _ node: YAMLNode, _ logical: String, _ reader: CaseReader
    ) throws(ContractError) -> Table {
        if node.isNull {
            return Table(name: logical, relation: logical, id: "id", columns: [:], stored: [:])
        }
        var (name, relation, id) = (logical, nil as String?, "id")
        var (columns, stored): ([String: String], [String: String]) = ([:], [:])
        for (key, value) in try reader.members(node, logical) {
            switch try reader.text(key) {
            case "name": name = try reader.text(value)
            case "relation": relation = try reader.text(value)
            case "id": id = try reader.text(value)
            case "columns": columns = try reader.texts(value)
            case "stored": stored = try reader.texts(value)
            default: throw reader.error(key, "unknown member; known are name, relation, id, columns, stored")
            }
        }
        return Table(name: name, relation: relation ?? name, id: id, columns: columns, stored: stored)
    }
}
