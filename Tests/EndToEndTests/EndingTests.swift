import Foundation
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A way in which a run of `demo` or `up` ends.
enum Ending: String, CaseIterable, Sendable {
    case byItself, interrupt, terminate, hangUp, twice, backendDies, serviceDies, failedStart, killed

    /// `up` never ends by itself.
    static let ofUp = allCases.filter { $0 != .byItself }

    /// The signal that a person or a supervisor sends.
    var signal: Int32? {
        switch self {
        case .interrupt, .twice: SIGINT
        case .terminate: SIGTERM
        case .hangUp: SIGHUP
        case .killed: SIGKILL
        default: nil
        }
    }

    /// How the program says so: `demo` tells by 130 that it was stopped before it knew.
    func status(ofDemo: Bool) -> ChildProcess.ExitStatus {
        switch self {
        case .byItself: .exited(0)
        case .interrupt, .terminate, .hangUp, .twice: .exited(ofDemo ? 130 : 0)
        case .backendDies, .serviceDies, .failedStart: .exited(1)
        case .killed: .signalled(SIGKILL)
        }
    }
}

/// However `demo` and `up` end, no process and no folder of theirs stays.
///
/// Each command one ending after another: four stacks that start at once on two cores beside others starve each other for
/// minutes.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct EndingTests {
    @Test(.serialized, arguments: Ending.ofUp)
    func upLeavesNoProcessAndNoFolder(ending: Ending) async throws {
        try await EndToEnd.withFolder { folder, temporary in
            let schema = folder + "/schema.sql"
            try "CREATE TABLE t (id text PRIMARY KEY)".write(
                toFile: schema, atomically: true, encoding: .utf8)
            try await Run.up(["--schema", schema], temporary: temporary, ending: ending)
        }
    }

    @Test(.serialized, arguments: Ending.allCases)
    func demoLeavesNoProcessAndNoFolder(ending: Ending) async throws {
        try await EndToEnd.withFolder { folder, temporary in
            guard ending == .failedStart else {
                return try await Run.demo(temporary: temporary, ending: ending)
            }
            // The cluster is there by then.
            try await Run.demo(
                environment: try await Self.brokenPostgres(in: folder), temporary: temporary, ending: ending,
                error: "Postgres did not start: FATAL:  broken")
        }
    }

    /// Makes a Postgres whose `initdb` works and whose server does not start; returns the PATH that leads to it.
    private static func brokenPostgres(in folder: String) async throws -> [String: String] {
        let bin = folder + "/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        let real = try await PostgresBinaries.find().directory
        for (name, line) in [
            ("pg_config", "echo '\(bin)'"), ("initdb", "exec '\(real)/initdb' \"$@\""),
            ("postgres", "echo 'FATAL:  broken' >&2; exit 1"),
        ] {
            try "#!/bin/sh\n\(line)\n".write(toFile: "\(bin)/\(name)", atomically: true, encoding: .utf8)
            chmod("\(bin)/\(name)", 0o755)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return ["PATH": "\(bin):\(path)"]
    }

    /// The private Postgres is a part, too.
    @Test func upEndsWithItsPostgres() async throws {
        try await EndToEnd.withFolder { folder, temporary in
            let schema = folder + "/schema.sql"
            try "CREATE TABLE t (id text PRIMARY KEY)".write(
                toFile: schema, atomically: true, encoding: .utf8)
            let up = try StackProcess(
                ["up", "--schema", schema, "--backend-port", "0", "--service-port", "0"], temporary: temporary
            )
            _ = try await up.endpoints()
            // Not the shell that watches it, whose arguments name it too.
            let postgres = try Processes.naming(temporary).first {
                $0.split(separator: " ").dropFirst().first?.hasSuffix("bin/postgres") == true
            }
            kill(try #require(postgres.flatMap { Int32($0.prefix { $0 != ":" }) }), SIGKILL)
            #expect(try await up.end() == .exited(1))
            #expect(
                try await up.allErrorLines().last == "error: the private Postgres has ended by itself")
            try await up.leavesNothingBehind()
        }
    }
}

/// One run of a command that is ended in a given way.
enum Run {
    /// Runs `up` until it serves, then ends it.
    ///
    /// - Parameters:
    ///   - arguments: options beside those of the ports.
    ///   - environment: variables such as `DATABASE_URI`.
    ///   - temporary: the folder that has to be empty afterwards.
    ///   - ending: how.
    ///   - rows: the ids that a user must get before.
    /// - Throws: errors of starting.
    static func up(
        _ arguments: [String] = [], environment: [String: String] = [:], temporary: String, ending: Ending,
        rows: [String] = []
    ) async throws {
        // Somebody else's: a start that finds its port taken fails when the backend is up already.
        let taken = try TCPSocket.listen()
        defer { close(taken.descriptor) }
        let port = ending == .failedStart ? taken.port : 0
        let up = try StackProcess(
            ["up", "--backend-port", "0", "--service-port", String(port)] + arguments,
            environment: environment, temporary: temporary)
        if ending != .failedStart {
            let places = try await up.endpoints()
            try await SyncedRows.wait(for: rows, backend: places.backend, service: places.service)
        }
        try await end(up, ending, isDemo: false)
    }

    /// Runs `demo`, to its end or until its second chapter, when everything is up.
    ///
    /// - Parameters:
    ///   - environment: variables such as `DATABASE_URI`.
    ///   - temporary: the folder that has to be empty afterwards.
    ///   - ending: how; a start fails for what is in the environment.
    ///   - error: what the message of a failed start begins with.
    /// - Throws: errors of starting.
    static func demo(
        environment: [String: String] = [:], temporary: String, ending: Ending, error: String = ""
    ) async throws {
        let demo = try StackProcess(["demo", "--json"], environment: environment, temporary: temporary)
        switch ending {
        case .byItself: try await demo.lines(until: "\"converged\":true")
        case .failedStart: break
        default: try await demo.lines(until: "\"chapter\":2")
        }
        try await end(demo, ending, isDemo: true, error: error)
    }

    /// Lets the service hang, so that closing waits for it, and asks a second time when closing has begun: the end is
    /// then there long before the service's patience of twenty seconds is over.
    private static func hurry(_ program: StackProcess) async throws {
        let (backend, service) = (try program.part(.backend), try program.part(.service))
        kill(service, SIGSTOP)
        defer { kill(service, SIGCONT) }
        program.process.signal(SIGINT)
        try await wait(for: "closing to begin") { !Processes.isAlive(backend) }
        program.process.signal(SIGINT)
        // Counted in looks, of which there are fewer in these seconds the busier the machine is.
        var looks = 0
        try await wait(
            for: "the service to be killed",
            read: {
                looks += 1
                return (isAlive: Processes.isAlive(service), looks: looks)
            }, until: { !$0.isAlive || $0.looks > 600 })
        #expect(looks <= 600, "the service was not killed at once")
        try await wait(for: "the end") { program.process.hasEnded }
    }

    private static func end(
        _ program: StackProcess, _ ending: Ending, isDemo: Bool, error: String = ""
    ) async throws {
        if let signal = ending.signal, ending != .twice { program.process.signal(signal) }
        switch ending {
        case .twice: try await hurry(program)
        case .backendDies: kill(try program.part(.backend), SIGKILL)
        case .serviceDies: kill(try program.part(.service), SIGKILL)
        default: break
        }
        #expect(try await program.end() == ending.status(ofDemo: isDemo))
        let errors = try await program.allErrorLines()
        switch ending {
        case .backendDies, .serviceDies:
            #expect(errors.last?.hasSuffix("has ended by itself; its last log lines say why") == true)
        case .failedStart: #expect(errors.last?.hasPrefix("error: " + error) == true, "\(errors.suffix(5))")
        case .killed: break
        default: #expect(!errors.contains { $0.hasPrefix("error: ") }, "\(errors.suffix(5))")
        }
        try await program.leavesNothingBehind()
    }
}
