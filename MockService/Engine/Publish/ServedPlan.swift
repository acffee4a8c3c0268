import PowerSyncSQLite
import PowerSyncSyncRules

/// A plan as a replication stream serves it: with the numbers that the state has given its lookups.
package final class ServedPlan: Sendable {
    /// The replication stream.
    package let stream: StreamNumber
    /// The plan.
    package let plan: SyncPlan
    /// The ids in `lookup_definition` of the plan's lookups, in their order.
    package let lookups: [Int64]

    /// Makes one of its parts.
    ///
    /// - Parameters:
    ///   - stream: The replication stream.
    ///   - plan: The plan.
    ///   - lookups: An id for each of the plan's lookups.
    package init(stream: StreamNumber, plan: SyncPlan, lookups: [Int64] = []) {
        precondition(lookups.count == plan.lookups.count, "each lookup has a number")
        self.stream = stream
        self.plan = plan
        self.lookups = lookups
    }
}

extension ServiceStore {
    /// Gives the lookups of a plan their numbers, the same ones each time.
    ///
    /// That comes before anything is written or served by the plan: what streams wait for counts these numbers.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - stream: The stream that is written and served by it.
    /// - Returns: The plan with the numbers.
    /// - Throws: `SQLiteError`.
    package func serving(_ plan: SyncPlan, by stream: StreamNumber) async throws -> ServedPlan {
        guard !plan.lookups.isEmpty else { return ServedPlan(stream: stream, plan: plan) }
        let names = plan.lookups.map(\.name)
        let numbers = try await pool.write { connection in
            try connection.transaction {
                let versions = LookupVersions(connection)
                return try names.map { try versions.definition(named: $0, of: stream) }
            }
        }
        return ServedPlan(stream: stream, plan: plan, lookups: numbers)
    }
}
