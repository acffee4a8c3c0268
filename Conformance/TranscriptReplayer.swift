import PowerSync
import PowerSyncSQLite
import PowerSyncWire

/// Runs a recorded session against this client's core and lists the differences.
package final class TranscriptReplayer {
    /// Does a task of the reducer; see ``SyncStore/perform(_:)``.
    package typealias Perform = (SyncStore, SyncTask) throws -> SyncEvent?

    private let connection: SQLiteConnection
    private let transcript: Transcript
    private let way: TranscriptWay
    private let tuning: StorageTuning
    private let performTask: Perform
    private var schema: JSON?
    private var iteration = SyncState()
    private var batch = Batch()
    private var clock: Int64 = 1_740_823_200_000_000
    private var lastRecorded: JSON?
    private var lastReplayed: JSON?

    /// Data lines that wait for the end of their row.
    private struct Batch {
        var lines: [StorableLine] = []
        /// What the recorded core answered to them, one after the other; nil if that is not known of each.
        var answers: [JSON]? = []
        /// The step of the last one, which differences are told of.
        var step = 0
        var action = ""

        mutating func append(_ line: StorableLine, _ index: Int, _ step: Transcript.Step) {
            lines.append(line)
            if let answer = step.expected?.arrayValue {
                answers?.append(contentsOf: answer)
            } else {
                answers = nil
            }
            self.step = index
            action = step.action
        }
    }

    /// Makes a replayer.
    ///
    /// - Parameters:
    ///   - transcript: the session.
    ///   - connection: an empty database with the core installed.
    ///   - way: how steps are done.
    ///   - tuning: by which way lines are stored, unless steps go through `powersync_control`.
    ///   - perform: does the tasks, unless steps go through `powersync_control`.
    package init(
        _ transcript: Transcript, on connection: SQLiteConnection, way: TranscriptWay = .batches,
        tuning: StorageTuning = .standard, perform: @escaping Perform = { try $0.perform($1) }
    ) {
        self.transcript = transcript
        self.connection = connection
        self.way = way
        self.tuning = tuning
        performTask = perform
    }

    /// Runs all steps.
    ///
    /// - Returns: where this client differs from the recording.
    /// - Throws: `SQLiteError` if the database cannot be prepared or read.
    package func run() throws -> [TranscriptDifference] {
        if way == .functions {
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
            if let line = batchedLine(of: step) {
                batch.append(line, index, step)
                if step.dump != nil { differences += storeBatch() }
            } else {
                // Everything else comes behind the lines that wait.
                differences += storeBatch()
                differences += compareAnswer(index, step)
            }
            if let dump = step.dump {
                differences += TranscriptDump.differences(
                    recorded: dump, replayed: try TranscriptDump.json(of: connection)
                ).map {
                    TranscriptDifference(
                        step: index, action: step.action, subject: $0.subject, lines: $0.lines)
                }
            }
        }
        return differences + storeBatch()
    }

    /// The data line of a step that may wait for others; nil for every other step, and for a line that is refused.
    private func batchedLine(of step: Transcript.Step) -> StorableLine? {
        guard way == .batches, iteration.isActive, !step.expectsError else { return nil }
        // What cannot be read is done as a step of its own, which tells the error.
        guard let call = try? TranscriptCommand(step, schema: schema),
            let command = try? SyncCommand(call.operation, payload: call.payload)
        else { return nil }
        let line: SyncLine?
        let size: Int
        switch command {
        case .lineText(let bytes):
            line = try? SyncLine(parsing: bytes)
            size = bytes.count
        case .lineBinary(let bytes):
            line = try? SyncLine(parsingBSON: bytes)
            size = bytes.count
        default: return nil
        }
        guard case .data(let data)? = line else { return nil }
        return try? StorableLine(data, size: size)
    }

    /// Stores the lines that wait, and compares what the last of them was answered: the others' answers are outdated.
    private func storeBatch() -> [TranscriptDifference] {
        guard !batch.lines.isEmpty else { return [] }
        let batch = batch
        self.batch = Batch()
        func difference(_ subject: String, _ lines: [String]) -> TranscriptDifference {
            TranscriptDifference(step: batch.step, action: batch.action, subject: subject, lines: lines)
        }
        do {
            let answer = try feed { .data(batch.lines) }
            guard let answers = batch.answers else { return [] }
            let lines = differences(.array(Array(answers.suffix(1))), answer)
            return lines.isEmpty ? [] : [difference("instructions", lines)]
        } catch {
            return [difference("error", ["- no error", "+ \(error)"])]
        }
    }

    private func compareAnswer(_ index: Int, _ step: Transcript.Step) -> [TranscriptDifference] {
        func difference(_ subject: String, _ lines: [String]) -> TranscriptDifference {
            TranscriptDifference(step: index, action: step.action, subject: subject, lines: lines)
        }
        if step.action == "start" {
            lastRecorded = nil
            lastReplayed = nil
        }
        do {
            let answer = try perform(step)
            if step.expectsError {
                return [difference("error", ["- an error", "+ no error, but \(answer?.text ?? "success")"])]
            }
            if let expected = step.expected {
                let lines = differences(expected, answer ?? .array([]))
                return lines.isEmpty ? [] : [difference("instructions", lines)]
            }
            if step.action == "set_write_checkpoint_target", let answer {
                return [difference("instructions", ["- no target before", "+ \(answer.text)"])]
            }
            return []
        } catch {
            return step.expectsError ? [] : [difference("error", ["- no error", "+ \(error)"])]
        }
    }

    private func differences(_ expected: JSON, _ actual: JSON) -> [String] {
        let (expected, actual) = comparable(expected, actual)
        return JSONDifference.lines(expected, actual)
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

    private func perform(_ step: Transcript.Step) throws -> JSON? {
        let fields = step.fields
        if let command = try TranscriptCommand(step, schema: schema) {
            return way == .functions ? try command.run(on: connection) : try run(command)
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

    /// Does a command as the SDK does it.
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
        defer { core.isIterationActive = iteration.isActive }
        let store = SyncStore(connection: connection, now: clock, tuning: tuning)
        do {
            let event = try event()
            let result = try connection.transaction {
                try SyncTransaction.run(event, from: iteration) { try performTask(store, $0) }
            }
            iteration = result.state
            return .array(TranscriptComparison.masked(SyncInstructions.json(result.effects)))
        } catch {
            iteration = SyncState()
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
