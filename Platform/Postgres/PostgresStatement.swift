/// One statement with its parameters in text form; nil is NULL.
package struct PostgresStatement: Sendable, Equatable {
    package let sql: String
    package let parameters: [String?]

    package init(_ sql: String, _ parameters: [String?] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// How one statement of a pipeline ended.
package enum PostgresStatementOutcome: Sendable {
    /// It ran. For COMMIT compare the command tag: in a failed transaction it "succeeds" as `ROLLBACK`.
    case result(PostgresResult)
    /// It failed; every later statement is `aborted`.
    case error(PostgresError)
    /// It was not run, because an earlier one had failed.
    case aborted

    package var result: PostgresResult? {
        guard case .result(let result) = self else { return nil }
        return result
    }

    package var error: PostgresError? {
        guard case .error(let error) = self else { return nil }
        return error
    }

    package var isAborted: Bool {
        guard case .aborted = self else { return false }
        return true
    }
}
