/// What went wrong with a connection, a statement or a message of Postgres.
///
/// `description` may reach a log, and `message` may unless it is of class 22: for errors of the server they hold the primary
/// message alone. DETAIL quotes whole rows and is only in `debugDescription` (backend 3.1).
package struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The kinds of failure a caller may tell apart.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        package let rawValue: String

        /// Makes a kind of its name.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The server answered a statement with an error; `sqlstate` says which.
        package static let server = Code(rawValue: "server")
        /// No connection could be made: refused, wrong credentials, no such database.
        package static let unavailable = Code(rawValue: "unavailable")
        /// The connection broke while it was in use.
        package static let connectionLost = Code(rawValue: "connection_lost")
        /// The connection or pool was closed by us.
        package static let closed = Code(rawValue: "closed")
        /// The time allowed for connecting is over; nothing was sent.
        package static let connectTimedOut = Code(rawValue: "connect_timed_out")
        /// The server did not answer a statement in time; what was sent may have been done.
        package static let timedOut = Code(rawValue: "timed_out")
        /// All connections of the pool are in use, and stayed so, or too many callers wait for one already.
        package static let overloaded = Code(rawValue: "overloaded")
        /// Another task is using the connection, or it is streaming.
        package static let busy = Code(rawValue: "busy")
        /// What was given cannot be sent: a malformed URI, a NUL character, too many parameters.
        package static let invalidInput = Code(rawValue: "invalid_input")
        /// Every address of the server is one that must not be connected to.
        package static let rejectedAddress = Code(rawValue: "rejected_address")
        /// The server sent something that does not follow the protocol.
        package static let malformedMessage = Code(rawValue: "malformed_message")
    }

    /// The kind of failure.
    package let code: Code
    /// Five characters of the SQL standard's error class and condition; nil when the server sent none.
    package let sqlstate: String?
    /// The primary message, in one line or more, without DETAIL and HINT.
    package let message: String
    /// ERROR, FATAL or PANIC, for errors of the server.
    package let severity: String?
    /// The schema of what the error is about.
    package let schema: String?
    /// The table that the error is about.
    package let table: String?
    /// The column that the error is about.
    package let column: String?
    /// The constraint that refused.
    package let constraint: String?
    /// DETAIL, which may quote rows: for `debugDescription` and tests, never for logs or answers.
    package let detail: String?
    /// The C function of the server that raised the error, which no setting of language translates.
    package let function: String?
    /// CONTEXT, the calls inside the server, which may quote statements and rows: as `detail`, never for logs or answers.
    package let context: String?

    /// Makes an error of its parts.
    package init(
        _ code: Code, _ message: String, sqlstate: String? = nil, severity: String? = nil,
        schema: String? = nil,
        table: String? = nil, column: String? = nil, constraint: String? = nil, detail: String? = nil,
        function: String? = nil, context: String? = nil
    ) {
        self.code = code
        self.message = message
        self.sqlstate = sqlstate
        self.severity = severity
        self.schema = schema
        self.table = table
        self.column = column
        self.constraint = constraint
        self.detail = detail
        self.function = function
        self.context = context
    }

    /// Whether the connection is gone or never was: no SQLSTATE, class 08, or one of the shutdowns 57P01–57P05.
    ///
    /// If COMMIT was on its way its outcome is unknown (backend 3.1).
    package var isConnectionLost: Bool {
        if code == .connectionLost || code == .connectTimedOut { return true }
        guard code == .server || code == .unavailable else { return false }
        guard let sqlstate else { return true }
        return sqlstate.hasPrefix("08") || sqlstate.hasPrefix("57P0")
    }

    /// Whether what was sent may have been done although nobody said so, as a COMMIT whose answer was lost (backend 3.1).
    ///
    /// That it is false is certain, that it is true is not: what the server stopped, it may also have finished.
    package var isOutcomeUnknown: Bool {
        switch code {
        case .connectionLost, .timedOut, .closed, .malformedMessage: true
        case .server: isConnectionLost
        default: false
        }
    }

    /// The message with its SQLSTATE; of class 22, whose messages quote the value that was refused, without the message.
    package var description: String {
        guard let sqlstate else { return message }
        let isQuoting = code == .server && sqlstate.hasPrefix("22")
        return "\(isQuoting ? "a value was refused" : message) (SQLSTATE \(sqlstate))"
    }

    /// Everything, for tests and debuggers alone: it may quote rows.
    package var debugDescription: String {
        var parts = [
            "PostgresError(\(code.rawValue)) \(message)\(sqlstate.map { " (SQLSTATE \($0))" } ?? "")"
        ]
        if let table { parts.append("table \(table)") }
        if let column { parts.append("column \(column)") }
        if let constraint { parts.append("constraint \(constraint)") }
        if let function { parts.append("function \(function)") }
        if let detail { parts.append("detail: \(detail)") }
        if let context { parts.append("context: \(context)") }
        return parts.joined(separator: ", ")
    }
}
