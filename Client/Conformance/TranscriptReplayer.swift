import PowerSyncSQLite
import PowerSyncWire

/// Runs a recorded session against this client's core and lists the differences.
package final class TranscriptReplayer {
    private let connection: SQLiteConnection
    private let transcript: Transcript
    private let tuning: SyncTuning
    private let usesFunctions: Bool
    private var schema: JSON?
    private var iteration: SyncIteration
    private var clock: Int64 = 1_740_823_200_000_000
    private var lastRecorded: JSON?
    private var lastReplayed: JSON?

    /// Makes a replayer.
    ///
    /// - Parameters:
    ///   - transcript: the session.
    ///   - connection: an empty database with the core installed.
    ///   - tuning: how lines are stored.
    ///   - usesFunctions: whether steps go through `powersync_control`, where no line waits.
    package init(
        _ transcript: Transcript, on connection: SQLiteConnection, tuning: SyncTuning = .standard,
        usesFunctions: Bool = false
    ) {
        self.transcript = transcript
        self.connection = connection
        self.tuning = tuning
        self.usesFunctions = usesFunctions
        iteration = SyncIteration(tuning: tuning)
    }

    /// Runs all steps.
    ///
    /// - Returns: where this client differs from the recording.
    /// - Throws: `SQLiteError` if the database cannot be prepared or read.
    package func run() throws -> [TranscriptDifference] {
        if usesFunctions {
            try SyncFunctions.register(on: connection) { [weak self] in self?.clock ?? 0 }
        }
        try connection.transaction {
            _ = try connection.one("SELECT powersync_init()") { $0.text(0) }
            try connection.run(
                "UPDATE ps_kv SET value = ?1 WHERE key = 'client_id'", [.text(transcript.clientID)])
        }
        var differences: [TranscriptDifference] = []
        for (index, step) in transcript.steps.enumerated() {
            clock += 1_000_000
            differences += try compare(index, step)
        }
        try iteration.flush(on: connection, now: clock)
        return differences
    }

    private func compare(_ index: Int, _ step: Transcript.Step) throws -> [TranscriptDifference] {
        func difference(_ subject: String, _ lines: [String]) -> TranscriptDifference {
            TranscriptDifference(step: index, action: step.action, subject: subject, lines: lines)
        }
        var differences: [TranscriptDifference] = []
        if step.action == "start" {
            lastRecorded = nil
            lastReplayed = nil
        }
        do {
            // Whatever looks into the tables, or changes them, comes behind the lines that wait.
            if !Self.actionsOfTheStream.contains(step.action) {
                try iteration.flush(on: connection, now: clock)
            }
            let answer = try perform(step)
            if step.dump != nil { try iteration.flush(on: connection, now: clock) }
            if step.expectsError {
                differences.append(
                    difference("error", ["- an error", "+ no error, but \(answer?.text ?? "success")"]))
            } else if let expected = step.expected {
                let (expected, actual) = comparable(expected, answer ?? .array([]))
                let lines = JSONDifference.lines(expected, actual)
                if !lines.isEmpty { differences.append(difference("instructions", lines)) }
            } else if step.action == "set_write_checkpoint_target", let answer {
                differences.append(difference("instructions", ["- no target before", "+ \(answer.text)"]))
            }
        } catch {
            if !step.expectsError { differences.append(difference("error", ["- no error", "+ \(error)"])) }
        }
        if let dump = step.dump {
            differences += TranscriptDump.differences(
                recorded: dump, replayed: try TranscriptDump.json(of: connection)
            ).map { difference($0.subject, $0.lines) }
        }
        return differences
    }

    /// Both answers in comparable form: lists of instructions without repeated statuses, everything else as it is.
    private func comparable(_ expected: JSON, _ actual: JSON) -> (JSON, JSON) {
        guard let recorded = expected.arrayValue, let replayed = actual.arrayValue else {
            return (TranscriptComparison.canonical(expected), TranscriptComparison.canonical(actual))
        }
        return (
            .array(TranscriptComparison.withoutRepeatedStatus(recorded, last: &lastRecorded)),
            .array(TranscriptComparison.withoutRepeatedStatus(replayed, last: &lastReplayed))
        )
    }

    // MARK: Steps

    private static let actionsOfTheStream: Set = ["line", "line_text", "line_binary"]

    private func perform(_ step: Transcript.Step) throws -> JSON? {
        let fields = step.fields
        if let command = try TranscriptCommand(step, schema: schema) {
            return usesFunctions ? try command.run(on: connection) : try run(command)
        }
        switch step.action {
        case "replace_schema":
            schema = fields["schema"]
            return try call("powersync_replace_schema", SQLiteValue(fields["schema"]?.text))
        case "clear": return try call("powersync_clear", SQLiteValue(fields["flags"]?.int64Value))
        case "sql":
            try connection.transaction {
                for statement in fields["statements"]?.arrayValue ?? [] {
                    let parts = statement.arrayValue ?? []
                    let parameters = parts.dropFirst().first?.arrayValue ?? []
                    try connection.run(
                        parts.first?.stringValue ?? "", parameters.map(TranscriptDump.value))
                }
            }
            return nil
        case "query":
            return try TranscriptDump.rows(
                fields["sql"]?.stringValue ?? "", connection,
                (fields["args"]?.arrayValue ?? []).map(TranscriptDump.value))
        default: return nil
        }
    }

    private var store: SyncStore { SyncStore(connection: connection, now: clock) }

    /// Does a command as the SDK does it, with lines that wait.
    private func run(_ command: TranscriptCommand) throws -> JSON? {
        switch try SyncCommand(command.operation, payload: command.payload) {
        case .start(let start, _): return try feed { .start(start) }
        case .stop: return try feed { .stop }
        case .lineText(let bytes):
            return try feed { .line(try SyncLine(parsing: bytes), size: bytes.count) }
        case .lineBinary(let bytes):
            return try feed { .line(try SyncLine(parsingBSON: bytes), size: bytes.count) }
        case .event(let event): return try feed { event }
        case .subscriptions(let change):
            try connection.transaction { try store.perform(change) }
            return .array([])
        case .target(let id?):
            return try connection.transaction { try store.setTarget(id) }.map { .integer($0) }
        case .target(nil), .seedCheckpointRequest, .nextCheckpointRequest, .currentCheckpointRequest:
            return nil
        }
    }

    private func feed(_ event: () throws -> SyncEvent) throws -> JSON {
        let core = try CoreExtension.of(connection)
        // Clearing softly and resyncing are refused as long as an iteration counts on what is stored.
        defer { core.isIterationActive = iteration.state.isActive }
        do {
            let effects = try iteration.feed(try event(), on: connection, now: clock)
            return .array(TranscriptComparison.masked(SyncInstructions.json(effects)))
        } catch {
            // What came before a failure is stored, as it would be line by line; the iteration is over.
            try iteration.flush(on: connection, now: clock)
            iteration = SyncIteration(tuning: tuning)
            throw error
        }
    }

    private func call(_ function: String, _ argument: SQLiteValue) throws -> JSON? {
        try connection.transaction {
            _ = try connection.one("SELECT \(function)(?1)", [argument]) { $0.text(0) }
        }
        return nil
    }
}
