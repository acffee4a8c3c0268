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

    /// With the settings that ship, and without coalescing and fast paths.
    @Test(arguments: files, [true, false])
    func answersAsTheOfficialCoreDoes(_ file: String, isTuned: Bool) throws {
        let transcript = try Transcript(
            parsing: Array(try Data(contentsOf: Self.folder.appending(path: file))))
        let folder = try TemporaryDirectory(prefix: "powersync-transcript-")
        defer { folder.remove() }
        let run = try TranscriptRun(
            transcript, path: folder.path + "/replay.db", tuning: isTuned ? .standard : .plain)
        for failure in run.failures { Issue.record("\(file): \(failure)") }
        // An exception that is no longer needed must go.
        #expect(run.unused.isEmpty)
    }
}
