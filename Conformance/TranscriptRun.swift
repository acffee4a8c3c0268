import PowerSync
import PowerSyncSQLite

/// How the steps of a recording are done.
package enum TranscriptWay: Sendable, CaseIterable {
    /// As the SDK does them: data lines side by side are stored together.
    case batches
    /// Each line is stored by itself.
    case lines
    /// Through the SQL function `powersync_control`, as programs without the SDK drive the core.
    case functions
}

/// A transcript replayed on a database file that is opened as an app's database is.
package struct TranscriptRun: Sendable {
    /// Where this client differs from the recording, and should not.
    package let failures: [TranscriptDifference]
    /// The steps that differ on purpose, with the reason.
    package let excused: [Int: String]
    /// Exceptions that this run did not need.
    package let unused: Set<Int>

    /// Replays a transcript, then checks the file.
    ///
    /// - Parameters:
    ///   - transcript: the recording.
    ///   - path: a file that does not exist yet; it stays for whoever wants to look into it.
    ///   - way: how steps are done.
    ///   - tuning: by which way lines are stored, unless steps go through `powersync_control`.
    ///   - perform: does the tasks of the reducer, unless steps go through `powersync_control`.
    /// - Throws: `SQLiteError` if the database cannot be opened or read.
    package init(
        _ transcript: Transcript, path: String, way: TranscriptWay = .batches,
        tuning: StorageTuning = .standard,
        perform: @escaping TranscriptReplayer.Perform = { try $0.perform($1) }
    ) throws {
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        try DatabaseOpener.setUp(connection, isWriter: true)
        var differences = try TranscriptReplayer(
            transcript, on: connection, way: way, tuning: tuning, perform: perform
        ).run()
        let damage = try connection.query("PRAGMA integrity_check") { $0.string(0) }.filter { $0 != "ok" }
        if !damage.isEmpty {
            differences.append(
                TranscriptDifference(
                    step: transcript.steps.count, action: "end", subject: "integrity of the file",
                    lines: damage.map { "+ \($0)" }))
        }
        let reasons = TranscriptExceptions.reasons(for: transcript.name)
        let differing = Set(differences.map(\.step))
        failures = differences.filter { reasons[$0.step] == nil }
        excused = reasons.filter { differing.contains($0.key) }
        unused = Set(reasons.keys).subtracting(differing)
    }
}
