/// What an error of Postgres means for an upload: the table of backend 3.1.
package struct DatabaseVerdict: Sendable, Hashable {
    /// What is done about it.
    package enum Kind: Sendable, Hashable {
        /// Tried again at once, with 503 when that does not help.
        case retry
        /// 503: the client keeps its queue.
        case unavailable
        /// 503, and an operator must act.
        case misconfigured
        /// 503 while the schema may be changing, then rejected.
        case drift
        /// Rejected within a 200: the write can never succeed.
        case rejected
        /// 503 until it has failed so often that it must be the write's own fault, then rejected.
        case suspect
        /// 500: our mistake.
        case bug
    }

    /// What is done about it.
    package let kind: Kind
    /// The stable code of the answer.
    package let code: String
    /// Whether the connection is of no more use.
    package let dropsConnection: Bool

    /// The server is silent: what was sent may have been done, and waiting for more of the same helps nobody.
    static let silence = DatabaseVerdict(.unavailable, "DATABASE_UNAVAILABLE", dropsConnection: true)

    /// A row that an operation names is not there, or another's.
    static let missingParent = DatabaseVerdict(.rejected, SQLRefusal.missingParentCode)

    private init(_ kind: Kind, _ code: String, dropsConnection: Bool = false) {
        self.kind = kind
        self.code = code
        self.dropsConnection = dropsConnection
    }

    /// Classifies an error.
    ///
    /// - Parameters:
    ///   - sqlstate: the five characters; nil where the connection broke.
    ///   - function: the function of the server that raised it: it tells a refused row from a missing grant, and our own
    ///     refusals (`SQLRefusal`) from values that do not fit; no setting of language translates it.
    package init(sqlstate: String?, function: String? = nil) {
        guard let sqlstate else {
            self.init(.retry, "DATABASE_UNAVAILABLE", dropsConnection: true)
            return
        }
        self =
            DatabaseVerdict.exact(sqlstate, function) ?? DatabaseVerdict.byClass(String(sqlstate.prefix(2)))
    }

    private static func exact(_ sqlstate: String, _ function: String?) -> DatabaseVerdict? {
        switch sqlstate {
        // Columns have changed under a prepared statement, which is prepared anew.
        case "0A000":
            function == "RevalidateCachedQuery"
                ? DatabaseVerdict(.retry, "CONTENTION") : DatabaseVerdict(.rejected, "UNSUPPORTED")
        case SQLRefusal.state where function == SQLRefusal.otherOwnerFunction:
            DatabaseVerdict(.rejected, "UNAUTHORIZED")
        case SQLRefusal.state where function == SQLRefusal.missingParentFunction:
            missingParent
        case "23502": DatabaseVerdict(.rejected, "NOT_NULL_VIOLATION")
        case "23503", "23001": DatabaseVerdict(.rejected, "FOREIGN_KEY_VIOLATION")
        case "23505": DatabaseVerdict(.rejected, "UNIQUE_VIOLATION")
        case "23514": DatabaseVerdict(.rejected, "CHECK_VIOLATION")
        case "25006": DatabaseVerdict(.unavailable, "DATABASE_READ_ONLY", dropsConnection: true)
        case "25P03": DatabaseVerdict(.retry, "DATABASE_UNAVAILABLE", dropsConnection: true)
        // The connection has forgotten what it had prepared, and prepares it anew.
        case "26000", "42P05": DatabaseVerdict(.retry, "CONTENTION")
        case "34000": DatabaseVerdict(.retry, "CONTENTION", dropsConnection: true)
        case "28000", "28P01", "3D000": DatabaseVerdict(.misconfigured, "DATABASE_MISCONFIGURED")
        case "40001", "40P01", "40003", "55P03": DatabaseVerdict(.retry, "CONTENTION")
        case "40002": DatabaseVerdict(.rejected, "CONSTRAINT_VIOLATION")
        case "42501":
            refusesRow(function)
                ? DatabaseVerdict(.rejected, "UNAUTHORIZED") : DatabaseVerdict(.bug, "INTERNAL")
        case "42P01", "42703", "42704", "42804", "42883": DatabaseVerdict(.drift, "SCHEMA_MISMATCH")
        case "428C9": DatabaseVerdict(.rejected, "READ_ONLY_COLUMN")
        case "55000", "55006": DatabaseVerdict(.bug, "INTERNAL")
        case "57014": DatabaseVerdict(.suspect, "TIMEOUT")
        case "P0001": DatabaseVerdict(.rejected, "BUSINESS_RULE")
        case "P0002", "P0003", "P0004": DatabaseVerdict(.bug, "INTERNAL")
        case "XX000": DatabaseVerdict(.suspect, "UNCLASSIFIED_ERROR")
        case BackendSchema.letterNotOpen: DatabaseVerdict(.unavailable, BackendSchema.letterNotOpenCode)
        case BackendSchema.userDisabled: DatabaseVerdict(.unavailable, BackendSchema.userDisabledCode)
        default: nil
        }
    }

    /// Whether 42501 is about a row: a policy's WITH CHECK or USING refused it, or a trigger raised the state itself.
    ///
    /// Everything else is the operator's to set right and says nothing about the row: a missing grant, or a role whose
    /// `row_security` is off (`check_enable_rls`).
    private static func refusesRow(_ function: String?) -> Bool {
        function == "ExecWithCheckOptions" || function == "exec_stmt_raise"
    }

    private static func byClass(_ prefix: String) -> DatabaseVerdict {
        switch prefix {
        case "08": DatabaseVerdict(.retry, "DATABASE_UNAVAILABLE", dropsConnection: true)
        case "21", "25", "42": DatabaseVerdict(.bug, "INTERNAL")
        case "22": DatabaseVerdict(.rejected, "INVALID_DATA")
        case "23": DatabaseVerdict(.rejected, "CONSTRAINT_VIOLATION")
        case "40": DatabaseVerdict(.retry, "CONTENTION")
        case "53": DatabaseVerdict(.unavailable, "DATABASE_OVERLOADED")
        case "54": DatabaseVerdict(.rejected, "TOO_LARGE")
        case "57": DatabaseVerdict(.retry, "DATABASE_UNAVAILABLE", dropsConnection: true)
        case "58", "XX": DatabaseVerdict(.misconfigured, "DATABASE_UNAVAILABLE", dropsConnection: true)
        // States that a team's own triggers raise.
        case "PS": DatabaseVerdict(.rejected, "BUSINESS_RULE")
        default: DatabaseVerdict(.suspect, "UNCLASSIFIED_ERROR")
        }
    }

    /// The sentence for a rejected result; Postgres' own texts quote values and stay inside (backend 3.1).
    ///
    /// - Parameter raised: the text of a trigger, which the team wrote for its users.
    /// - Returns: one sentence.
    package func sentence(raised: String) -> String {
        switch code {
        case "BUSINESS_RULE": raised
        case "NOT_NULL_VIOLATION": "a required column has no value"
        case SQLRefusal.missingParentCode: "the row that it belongs to does not exist"
        case "FOREIGN_KEY_VIOLATION": "a row that is referred to does not exist, or is still referred to"
        case "UNIQUE_VIOLATION": "another row already has a value that must be unique"
        case "CHECK_VIOLATION": "a check constraint refuses the row"
        case "CONSTRAINT_VIOLATION": "a constraint refuses the row"
        case "INVALID_DATA": "a value does not fit its column"
        case "UNAUTHORIZED": "the row belongs to somebody else"
        case "READ_ONLY_COLUMN": "clients may not write this column"
        case "TOO_LARGE": "a value is larger than the database can index or store"
        case "SCHEMA_MISMATCH": "the database has no such table, column or type"
        case "TIMEOUT", "TIMEOUT_POISON": "the write takes longer than the database allows"
        case "UNSUPPORTED": "the database does not support this write"
        default: "the database refuses the write"
        }
    }
}
