import Foundation
import PowerSync
import PowerSyncSystem
import Testing

/// The official core's recordings, replayed step by step.
@Suite struct TranscriptTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/core")

    static let files: [String] = ["curated", "random"].flatMap { part -> [String] in
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: part).path)
        return (names ?? []).filter { $0.hasSuffix(".json") }.sorted().map { "\(part)/\($0)" }
    }

    @Test func allRecordingsAreHere() { #expect(Self.files.count == 99) }

    enum Way: CaseIterable { case asShipped, plain, walking, functions }

    /// With the settings that ship, without coalescing and fast paths, with a walk for the smallest change, and through
    /// `powersync_control`.
    @Test(arguments: files, Way.allCases)
    func answersAsTheOfficialCoreDoes(_ file: String, _ way: Way) throws {
        let transcript = try Transcript(
            parsing: Array(try Data(contentsOf: Self.folder.appending(path: file))))
        let folder = try TemporaryDirectory(prefix: "powersync-transcript-")
        defer { folder.remove() }
        var tuning = way == .plain ? SyncTuning.plain : .standard
        if way == .walking { tuning.walkedRows = 1 }
        let run = try TranscriptRun(
            transcript, path: way == .functions ? ":memory:" : folder.path + "/replay.db", tuning: tuning,
            usesFunctions: way == .functions)
        for failure in run.failures { Issue.record("\(file): \(failure)") }
        // An exception that is no longer needed must go.
        #expect(run.unused.isEmpty)
    }
}
