import PowerSyncPostgres

/// Ties the records of attachments to the store that has the bytes: both have a random name.
///
/// Else a folder whose disk is not mounted, or another bucket, would be taken for a store that has lost everything: it would be
/// told what goes, and what is there would be forgotten. A store may have several names, one of each database.
struct StoreBinding: Sendable {
    let store: StoreCalls
    /// Asks the database, until a moment; nil for no row.
    let ask: @Sendable (PostgresStatement, ContinuousClock.Instant) async throws -> String?

    /// What is wrong where they are not of each other, and what to do about it.
    private static let mistake =
        "it is not the store that has the attachments of this database, as where a disk is not mounted or a name is "
        + "mistyped; one that was moved needs all that was in it; if the files are lost for good, "
        + "DELETE FROM psb.attachment_store, and the next start takes this one"

    /// Refuses a start with a store that is not that of the database.
    ///
    /// One that does not answer is asked again by whoever needs it.
    ///
    /// - Parameter deadline: until when to wait.
    /// - Throws: `BackendError` that says what to do, `PostgresError`, `CancellationError`.
    func requireAtStart(until deadline: ContinuousClock.Instant) async throws {
        do {
            guard try await !holds(until: deadline) else { return }
        } catch is Problem {
            // The log has it.
            return
        }
        throw BackendError(
            .configuration,
            "\(ObjectStoreConfiguration.variable) names a store that cannot be used: \(Self.mistake)")
    }

    /// Refuses to conclude anything from what a store does not have that is not that of the database.
    ///
    /// - Parameter deadline: until when to wait.
    /// - Throws: `Problem` 503, also where the store does not answer; `PostgresError`, `CancellationError`.
    func require(until deadline: ContinuousClock.Instant) async throws {
        guard try await holds(until: deadline) else {
            throw store.answer(to: ObjectStoreError(.refused, Self.mistake))
        }
    }

    /// Whether both have the same name.
    ///
    /// A database without one, and one that knows no file yet, takes the store that there is.
    private func holds(until deadline: ContinuousClock.Instant) async throws -> Bool {
        let known = try await ask(PostgresStatement("SELECT name FROM psb.attachment_store"), deadline)
        guard let name = known else {
            try await tie(until: deadline)
            return try await holds(until: deadline)
        }
        if try await store.call(until: deadline, { try await $0.isNamed(name) }) { return true }
        let isInUse = try await ask(
            PostgresStatement(
                """
                SELECT EXISTS (SELECT FROM psb.attachments WHERE state <> 'deleted')
                    OR EXISTS (SELECT FROM psb.attachment_removals)
                """), deadline)
        guard isInUse == "f" else { return false }
        try await store.call(until: deadline) { try await $0.takeName(name) }
        return true
    }

    /// Gives both a name; of several backends that do so at once the first one has named the database.
    private func tie(until deadline: ContinuousClock.Instant) async throws {
        let name = store.environment.uniqueName()
        // The store first: a name that the database alone had would say that it is another one.
        try await store.call(until: deadline) { try await $0.takeName(name) }
        _ = try await ask(
            PostgresStatement(
                "INSERT INTO psb.attachment_store (name) VALUES ($1::text) ON CONFLICT DO NOTHING", [name]),
            deadline)
    }
}
