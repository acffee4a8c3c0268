import PowerSyncPostgres
import PowerSyncSystem

/// Who may do nothing any more (`psb.disabled_users`), asked each time: nobody remembers the answer.
struct DisabledUsers: Sendable {
    /// Asks whether a user is among them, `true` or `false`; part of other pipelines, too.
    static func question(_ subject: String) -> PostgresStatement {
        PostgresStatement(
            "SELECT EXISTS (SELECT FROM psb.disabled_users d WHERE d.user_id = $1::text)::text", [subject])
    }

    private let pool: PostgresPool
    private let patience: Duration

    /// Asks over connections of a pool.
    ///
    /// - Parameters:
    ///   - pool: the pool.
    ///   - patience: how long the answer may take.
    init(pool: PostgresPool, patience: Duration) {
        self.pool = pool
        self.patience = patience
    }

    /// Refuses a user who may do nothing.
    ///
    /// - Parameter subject: the user.
    /// - Throws: `Problem` 403; `PostgresError` where the database does not tell, `CancellationError`.
    func check(_ subject: String) async throws {
        let deadline = ContinuousClock.now + patience
        let answer: String?
        do {
            answer = try await ask(subject, until: deadline)
        } catch let error as PostgresError where error.isConnectionLost && .now < deadline {
            // The connection may have been idle while its session was ended; the pool has dropped it.
            answer = try await ask(subject, until: deadline)
        }
        guard answer == "false" else { throw Problem.accountDisabled }
    }

    private func ask(_ subject: String, until deadline: ContinuousClock.Instant) async throws -> String? {
        let question = Self.question(subject)
        return try await pool.withConnection(until: deadline) {
            try await $0.query(question.sql, question.parameters, until: deadline).scalar
        }
    }
}
