import PowerSyncPostgres
import PowerSyncSystem

/// The whole demo: a stack of its own, the five situations, the comparison at the end.
package enum DemoRun {
    /// Starts the stack and runs the demo.
    ///
    /// - Parameters:
    ///   - timeline: where events are shown.
    ///   - stack: one of `DemoStack.make`; stays the caller's, who stops it.
    ///   - poller: the poller of the program.
    ///   - warn: gets what a person should know.
    /// - Returns: whether all copies were equal at the end; what differs, or went wrong, was shown.
    /// - Throws: errors of starting, the end of a part, and any that is not about the rows.
    package static func run(
        timeline: DemoTimeline, stack: LocalStack, poller: Poller, warn: @Sendable (String) -> Void
    ) async throws -> Bool {
        try await stack.start(warn: warn)
        timeline.event("Stack", "postgres  \(try stack.database.shownURI)")
        timeline.event("Stack", "backend   \(try await stack.url(.backend))")
        timeline.event("Stack", "service   \(try await stack.url(.service))")
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await stack.watch()
                return false
            }
            group.addTask { try await play(timeline, stack, poller) }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    private static func play(_ timeline: DemoTimeline, _ stack: LocalStack, _ poller: Poller) async throws
        -> Bool
    {
        do {
            let rows = try await DemoWorld.with(
                stack: stack, folder: stack.folder, timeline: timeline, poller: poller
            ) { world in
                try await world.localWriteArrives()
                try await world.editsWhileCutOffConverge()
                try await world.refusedRowIsKept()
                try await world.manyRowsArrive()
                try await world.checkThirdDevice()
                try await world.pictureFollowsItsRow()
                return try await world.converge().count
            }
            timeline.end(
                hasConverged: true,
                "converged: A = B = Postgres, \(rows) rows compared one by one, in \(timeline.elapsed) ms")
            return true
        } catch let error as StackError where !Task.isCancelled {
            timeline.end(hasConverged: false, "did not converge: \(error.message)")
            return false
        }
    }
}

/// The stack that the demo and the end-to-end tests run on.
package enum DemoStack {
    /// Makes the stack for the demo's app on an empty database; it is not started yet.
    ///
    /// - Parameters:
    ///   - database: the rows' home; stays the caller's.
    ///   - configuration: executable and folder; tables and table file are the demo's, and so is the sync configuration
    ///     unless it has one.
    ///   - poller: the poller of the program.
    /// - Returns: the stack.
    /// - Throws: `StackError` if the table file cannot be written.
    package static func make(
        database: StackDatabase, configuration: LocalStackConfiguration, poller: Poller
    ) throws -> LocalStack {
        var configuration = configuration
        configuration.schema = DemoSchema.sql
        configuration.syncConfig = configuration.syncConfig ?? .text(DemoSchema.syncConfig)
        let map = configuration.folder + "/tables.yaml"
        try PrivateFile.write(DemoSchema.tableMap, to: map)
        configuration.tableMap = map
        return LocalStack(configuration, database: database, poller: poller)
    }
}
