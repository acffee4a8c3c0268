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
            rows reach both. At the end every row on both devices is compared with Postgres. Exit status 0 means \
            they are equal, 1 that they are not. Nothing stays behind.
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
        let hasConverged = try await Session.run(until: StopSignal.stream()) { session in
            try await run(DemoTimeline(style), session: session)
        }
        return hasConverged.map { $0 ? 0 : 1 } ?? 130
    }

    private static func run(_ timeline: DemoTimeline, session: Session) async throws -> Bool {
        let poller = try session.poller()
        let folder = try session.temporaryFolder()
        timeline.chapter("A stack of its own starts")
        let database: StackDatabase
        if let uri = ProcessInfo.processInfo.environment["DATABASE_URI"], !uri.isEmpty {
            database = try await .own(on: uri, poller: poller)
        } else {
            database = try await .cluster(directory: nil, poller: poller)
        }
        session.onEnd { try await database.close() }
        let log = try LogFile.open(folder + "/parts.log")
        session.onEnd { close(log) }
        var configuration = LocalStackConfiguration(executable: try ThisExecutable.path(), folder: folder)
        configuration.log = log
        do {
            return try await DemoRun.run(
                timeline: timeline, database: database, configuration: configuration, poller: poller)
        } catch {
            // The log goes with the folder, so its end is shown now.
            if !Task.isCancelled { StandardError.print(LogFile.end(folder + "/parts.log")) }
            throw error
        }
    }
}

/// The log of the demo's parts, which is shown only when something goes wrong.
enum LogFile {
    static func open(_ path: String) throws -> Int32 {
        #if canImport(Glibc)
            let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        #elseif canImport(Musl)
            let descriptor = Musl.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        #else
            let descriptor = Darwin.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        #endif
        guard descriptor >= 0 else { throw StackError(.file, "cannot write \(path)") }
        return descriptor
    }

    /// Returns the last lines of a log.
    static func end(_ path: String) -> String {
        // A log that cannot be read has no end to show.
        let lines = ((try? TextFile.read(path)) ?? "").split(separator: "\n")
        return lines.suffix(20).joined(separator: "\n")
    }
}
