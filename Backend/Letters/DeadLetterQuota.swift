import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Lets nobody fill the database with refused writes (backend 7, number 29).
///
/// At the quota the uploads of a user wait on the device: nothing is lost, and nothing is kept that there is no room for. It is
/// looked at before each transaction of a request, and before each piece of one that is cut; one of these may go over it.
package final class DeadLetterQuota: Sendable {
    /// The user has as many dead letters as may be.
    package struct Exhausted: Error, Sendable {}

    private struct Reading {
        var usage: DeadLetterUsage
        let at: ContinuousClock.Instant
    }

    /// For how long a reading holds: with room, unless this backend itself refuses a write; without, so that uploads go
    /// on soon after somebody has made room.
    private static let holds = (withRoom: Duration.seconds(300), full: Duration.seconds(1))
    /// How often the log is told about one user.
    private static let tellsEvery = Duration.seconds(600)
    /// The users that are remembered; with more, all are read anew.
    private static let mostUsers = 10_000
    /// For how long nobody's letters are looked at once that was not possible: the database is that of all users.
    private static let rest = Duration.seconds(1)

    private let policy: DeadLetterPolicy
    private let pool: PostgresPool
    private let patience: Duration
    private let log: Log
    private let readings = Lock<[ExactText: Reading]>([:])
    private let failedAt = Lock<ContinuousClock.Instant?>(nil)
    private let told = Lock<[ExactText: ContinuousClock.Instant]>([:])

    /// Makes a quota that has looked at nobody's letters.
    ///
    /// - Parameters:
    ///   - policy: how many there may be.
    ///   - pool: where they are.
    ///   - patience: how long looking may take.
    ///   - log: where it says whose uploads wait.
    package init(policy: DeadLetterPolicy, pool: PostgresPool, patience: Duration, log: Log) {
        self.policy = policy
        self.pool = pool
        self.patience = patience
        self.log = log
    }

    /// The beginning of a user's digest, which names a user in logs and commands without naming anybody.
    package static func digest(of user: String) -> String {
        Hexadecimal.encode(Array(Digest.sha256(Array(user.utf8)).prefix(6)))
    }

    /// Requires that a user may have another dead letter.
    ///
    /// - Parameters:
    ///   - user: the token's subject.
    ///   - deadline: when looking is over, if that is before its own time; a second later the database has stopped it.
    /// - Throws: `Exhausted`, `CancellationError`.
    package func check(_ user: String, until deadline: ContinuousClock.Instant) async throws {
        let name = ExactText(user)
        let last = readings.withLock { $0[name] }
        let wasFull = last.map { policy.isFull($0.usage) } ?? false
        if let last, ContinuousClock.now - last.at < (wasFull ? Self.holds.full : Self.holds.withRoom) {
            guard wasFull else { return }
            tell(name, last.usage)
            throw Exhausted()
        }
        guard let usage = try await look(at: user, until: deadline) else {
            // That a quota cannot be looked at is no reason to refuse an upload, and makes no room either.
            guard wasFull else { return }
            throw Exhausted()
        }
        readings.withLock { readings in
            if readings.count >= Self.mostUsers { readings = [:] }
            readings[name] = Reading(usage: usage, at: .now)
        }
        guard policy.isFull(usage) else { return }
        tell(name, usage)
        throw Exhausted()
    }

    /// Looks at the letters of a user; nil where the database is in trouble, which it says when the upload is applied.
    private func look(
        at user: String, until deadline: ContinuousClock.Instant
    ) async throws -> DeadLetterUsage? {
        if let failedAt = failedAt.withLock({ $0 }), ContinuousClock.now - failedAt < Self.rest { return nil }
        do {
            let end = min(deadline, .now + patience)
            return try await pool.withConnection(until: end) {
                try await DeadLetterTable.usage(of: user, on: $0, until: end)
            }
        } catch is PostgresError {
            failedAt.withLock { $0 = .now }
            return nil
        }
    }

    /// Says that letters of a user were left by this backend.
    ///
    /// - Parameters:
    ///   - usage: what they take.
    ///   - user: the token's subject.
    package func add(_ usage: DeadLetterUsage, of user: String) {
        readings.withLock { readings in
            guard var reading = readings[ExactText(user)] else { return }
            reading.usage.rows += usage.rows
            reading.usage.bytes += usage.bytes
            readings[ExactText(user)] = reading
        }
    }

    /// Says that a user may have more letters than were read.
    package func forget(_ user: String) { readings.withLock { $0[ExactText(user)] = nil } }

    private func tell(_ name: ExactText, _ usage: DeadLetterUsage) {
        let isTime = told.withLock { told in
            if let last = told[name], ContinuousClock.now - last < Self.tellsEvery { return false }
            if told.count >= Self.mostUsers { told = [:] }
            told[name] = .now
            return true
        }
        guard isTime else { return }
        let digest = DeadLetterQuota.digest(of: name.text)
        log.error(
            "the dead letters of a user are at their quota; all uploads of this user wait",
            [
                "letters.user": digest, "letters.rows": String(usage.rows),
                "letters.bytes": String(usage.bytes),
                "letters.look": "powersync-backend letters list --digest \(digest)",
                "letters.free": "powersync-backend letters discard --all --digest \(digest) --yes",
            ])
    }
}
