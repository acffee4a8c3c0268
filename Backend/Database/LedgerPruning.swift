import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Forgets, every hour, what the ledger no longer needs (backend 3.5).
struct LedgerPruning: Sendable {
    let pool: PostgresPool
    let poller: Poller
    let log: Log

    /// Entries that guarded a server's own retries go after an hour, the others after 14 days, except the
    /// newest of each client.
    static let statements = [
        """
        DELETE FROM psb.upload_ledger WHERE client_id LIKE 'attempt:%' AND created_at < now() - interval '1 hour'
        """,
        """
        DELETE FROM psb.upload_ledger l WHERE l.created_at < now() - interval '14 days'
            AND EXISTS (SELECT FROM psb.upload_ledger n WHERE n.user_id = l.user_id AND n.client_id = l.client_id
                AND n.first_op_id > l.first_op_id)
        """,
        "DELETE FROM psb.upload_attempts WHERE last_at < now() - interval '14 days'",
    ]

    /// Runs until its task is cancelled.
    func run() async {
        while !Task.isCancelled {
            for statement in LedgerPruning.statements {
                do {
                    _ = try await pool.withConnection { try await $0.query(statement) }
                } catch is CancellationError {
                    return
                } catch {
                    log.warning("ledger not pruned", ["error": "\(error)"])
                }
            }
            // It only throws when the task is cancelled.
            guard (try? await poller.sleep(until: .now + .seconds(3_600))) != nil else { return }
        }
    }
}
