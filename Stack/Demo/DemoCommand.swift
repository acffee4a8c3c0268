import PowerSyncCommandLine
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The sub-command `demo`.
enum DemoCommand {
    static let command = Command(
        "demo", abstract: "Play the main job on real parts: three devices, a backend, a service, a Postgres.",
        discussion: """
            Starts a private Postgres, the backend and the service, then: a local write arrives on another device; \
            two devices edit while one is cut off; a row that Postgres refuses is kept and leaves the device; 10,000 \
            rows reach both; a picture follows its row to another device of its user, and goes with it. At the end \
            every row on both devices is compared with Postgres. Exit status 0 means they are equal, 1 that they are \
            not, 130 that it was stopped before. Nothing stays behind.
            """,
        options: [Option("--json", help: "Print JSON lines instead of a timeline.")],
        variables: [
            Variable(
                "DATABASE_URI",
                help:
                    "A Postgres server to use instead of a private one. The demo makes a database of its own there "
                    + "and drops it; the role must be allowed to create databases and to replicate.")
        ]
    ) { arguments in
        let style: DemoTimeline.Style = arguments.flag("--json") ? .json : .text(isTerminal: isatty(1) == 1)
        let uri = ProcessInfo.processInfo.environment["DATABASE_URI"] ?? ""
        if uri.isEmpty { PartEnvironment.forgetPostgresVariables() }
        let hasConverged = try await Session.run(until: StopSignal.stream()) { session in
            try await run(
                DemoTimeline(style), uri.isEmpty ? .cluster(directory: nil) : .ownDatabase(server: uri),
                session: session)
        }
        return hasConverged.map { $0 ? 0 : 1 } ?? 130
    }

    private static func run(
        _ timeline: DemoTimeline, _ place: StackDatabase.Place, session: Session
    ) async throws -> Bool {
        let poller = try session.poller()
        let folder = try session.temporaryFolder()
        timeline.chapter("A stack of its own starts")
        let warn: @Sendable (String) -> Void = { StandardError.print("warning: \($0)") }
        let database = StackDatabase(place, poller: poller, warn: warn)
        session.onEnd { try await database.close() }
        try await database.open()
        let log = try PrivateFile.create(folder + "/parts.log")
        session.onEnd { close(log) }
        var configuration = LocalStackConfiguration(executable: try ThisExecutable.path(), folder: folder)
        configuration.log = log
        let stack = try DemoStack.make(database: database, configuration: configuration, poller: poller)
        session.onEnd { await stack.stop() }
        session.onHurry { stack.killNow() }
        // The log goes with the folder, so its end is shown now.
        func showLog() { StandardError.print(logEnd(folder + "/parts.log")) }
        do {
            let hasConverged = try await DemoRun.run(
                timeline: timeline, stack: stack, poller: poller, warn: warn)
            if !hasConverged { showLog() }
            return hasConverged
        } catch {
            if !Task.isCancelled { showLog() }
            throw error
        }
    }

    /// Returns the last lines of the log of the parts, which is shown only when something goes wrong.
    private static func logEnd(_ path: String) -> String {
        // A log that cannot be read has no end to show.
        let lines = ((try? TextFile.read(path)) ?? "").split(separator: "\n")
        return lines.suffix(20).joined(separator: "\n")
    }
}
