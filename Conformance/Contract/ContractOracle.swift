import PowerSyncWire

/// What is in the database, whatever the backend says (backend 9.1).
package protocol ContractOracle: Sendable {
    /// Reads a row.
    ///
    /// - Parameters:
    ///   - table: The logical name of the table.
    ///   - id: The id.
    /// - Returns: The values by their logical names, as Postgres makes JSON of them; nil if there is no such row.
    /// - Throws: What stands in the way.
    func row(_ table: String, _ id: String) async throws -> [String: JSON]?

    /// Counts the dead letters of a user.
    ///
    /// - Parameter user: The subject of the user's tokens.
    /// - Returns: How many there are; nil where nobody can tell, and the case is not applicable.
    /// - Throws: What stands in the way.
    func letters(of user: String) async throws -> Int?
}
