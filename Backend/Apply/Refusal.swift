import PowerSyncWire

/// Why a transaction will never be accepted: the rejected result of an answer with status 200 (backend 1.6).
package struct Refusal: Error, Sendable, Hashable {
    /// A stable code such as `CHECK_VIOLATION`.
    package var code: String
    /// One sentence without values of rows.
    package var message: String
    /// The operation's index in its transaction; nil where the commit itself failed.
    package var index: Int?
    /// The client's name of the table.
    package var table: String?
    /// The column, if one is to blame.
    package var column: String?
    /// The constraint, if one is to blame.
    package var constraint: String?
    /// The id that the client gave the row.
    package var rowID: String?
    /// The state that Postgres reported.
    package var sqlstate: String?
    /// The name that is not there, if that is why.
    package var unknown: CatalogKnowledge.Name?

    /// Makes a refusal of its fields.
    package init(
        code: String, message: String, index: Int? = nil, table: String? = nil, column: String? = nil,
        constraint: String? = nil, rowID: String? = nil, sqlstate: String? = nil,
        unknown: CatalogKnowledge.Name? = nil
    ) {
        self.code = code
        self.message = message
        self.index = index
        self.table = table
        self.column = column
        self.constraint = constraint
        self.rowID = rowID
        self.sqlstate = sqlstate
        self.unknown = unknown
    }

    /// The refusal as part of a result.
    package var failure: UploadResult.Failure {
        var details: [JSONMember] = []
        for (name, value) in [
            ("table", table), ("id", rowID), ("column", column), ("constraint", constraint),
        ] {
            if let value { details.append(JSONMember(name, .string(value))) }
        }
        return UploadResult.Failure(
            operationIndex: index, errorCode: code, message: message, details: details)
    }
}
