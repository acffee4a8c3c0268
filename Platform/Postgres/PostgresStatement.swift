/// One statement with its parameters in text form; nil is NULL.
package struct PostgresStatement: Sendable, Equatable {
    /// The statement, with `$1`… where parameters stand.
    package let sql: String
    /// The values of the parameters, as they are sent.
    package let values: PostgresParameters
    /// Whether the rows of its result are kept; if not, its result has the command tag and the count alone.
    package let keepsRows: Bool
    /// Whether a session that keeps statements prepared may keep this one.
    package let isKept: Bool

    /// Makes a statement of its parts.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - parameters: The values of its parameters.
    ///   - keepsRows: Whether the rows of its result are wanted; a result costs two kilobytes even without any.
    package init(_ sql: String, _ parameters: [String?] = [], keepsRows: Bool = true) {
        self.init(sql, PostgresParameters(parameters), keepsRows: keepsRows)
    }

    /// Makes a statement of parameters that are one buffer already.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: The values of its parameters.
    ///   - keepsRows: Whether the rows of its result are wanted.
    ///   - isKept: Whether a session may keep it prepared.
    package init(
        _ sql: String, _ values: PostgresParameters, keepsRows: Bool = true, isKept: Bool = true
    ) {
        self.sql = sql
        self.values = values
        self.keepsRows = keepsRows
        self.isKept = isKept
    }

    /// The values of the parameters as texts; nil is NULL.
    package var parameters: [String?] { values.texts }
}

/// How one statement of a pipeline ended.
package enum PostgresStatementOutcome: Sendable {
    /// It ran. For COMMIT compare the command tag: in a failed transaction it "succeeds" as `ROLLBACK`.
    case result(PostgresResult)
    /// It failed; every later statement of its segment is `aborted`.
    case error(PostgresError)
    /// It was not run, because an earlier one had failed.
    case aborted

    /// What the statement returned; nil if it did not run to its end.
    package var result: PostgresResult? {
        guard case .result(let result) = self else { return nil }
        return result
    }

    /// Why the statement failed; nil if it did not.
    package var error: PostgresError? {
        guard case .error(let error) = self else { return nil }
        return error
    }

    /// Whether the statement was not run.
    package var isAborted: Bool {
        guard case .aborted = self else { return false }
        return true
    }
}
