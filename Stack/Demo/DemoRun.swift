import PowerSyncPostgres
import PowerSyncSystem

/// The whole demo: a stack of its own, the four situations, the comparison at the end.
package enum DemoRun {
    /// Runs the demo.
    ///
    /// - Parameters:
    ///   - timeline: where events are shown.
    ///   - database: the rows' home, new and empty; stays the caller's.
    ///   - configuration: executable and folder of the stack; the demo sets the rest.
    ///   - poller: the poller of the program.
    /// - Returns: whether all copies were equal at the end; what differs, or went wrong, was shown.
    /// - Throws: errors of starting, and any that is not about the rows.
    package static func run(
        timeline: DemoTimeline, database: StackDatabase, configuration: LocalStackConfiguration,
        poller: Poller
    ) async throws -> Bool {
        let stack = try await DemoStack.start(
            database: database, configuration: configuration, poller: poller)
        timeline.event("Stack", "postgres  \(PostgresURI.withoutPassword(database.uri))")
        timeline.event("Stack", "backend   \(try await stack.url(.backend))")
        timeline.event("Stack", "service   \(try await stack.url(.service))")
        do {
            let rows = try await DemoWorld.with(
                stack: stack, folder: configuration.folder, timeline: timeline, poller: poller
            ) { world in
                try await world.localWriteArrives()
                try await world.editsWhileCutOffConverge()
                try await world.refusedRowIsKept()
                try await world.manyRowsArrive()
                try await world.checkThirdDevice()
                return try await world.converge().count
            }
            await stack.stop()
            timeline.end(
                hasConverged: true,
                "converged: A = B = Postgres, \(rows) rows compared one by one, in \(timeline.elapsed) ms")
            return true
        } catch let error as StackError {
            await stack.stop()
            timeline.end(hasConverged: false, "did not converge: \(error.message)")
            return false
        } catch {
            await stack.stop()
            throw error
        }
    }
}

/// The stack that the demo and the end-to-end tests run on.
package enum DemoStack {
    /// Starts backend and service for the demo's app on an empty database.
    ///
    /// - Parameters:
    ///   - database: the rows' home; stays the caller's.
    ///   - configuration: executable and folder; tables, sync configuration and table file are the demo's.
    ///   - poller: the poller of the program.
    /// - Returns: the running stack.
    /// - Throws: `StackError` or `PostgresError`.
    package static func start(
        database: StackDatabase, configuration: LocalStackConfiguration, poller: Poller
    ) async throws -> LocalStack {
        var configuration = configuration
        configuration.schema = DemoSchema.sql
        configuration.syncConfig = .text(DemoSchema.syncConfig)
        let map = configuration.folder + "/tables.yaml"
        try TextFile.write(DemoSchema.tableMap, to: map)
        configuration.tableMap = map
        return try await LocalStack.start(configuration, database: database, poller: poller)
    }
}
