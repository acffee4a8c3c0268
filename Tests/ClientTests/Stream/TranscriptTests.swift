import Foundation
import PowerSync
import PowerSyncSQLite
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

    @Test(arguments: files) func answersAsTheOfficialCoreDoes(_ file: String) throws {
        let transcript = try Transcript(
            parsing: Array(try Data(contentsOf: Self.folder.appending(path: file))))
        let connection = try SQLiteConnection(path: ":memory:")
        try CoreExtension.install(on: connection)
        let differences = try TranscriptReplayer(transcript, on: connection).run()
        let excused = TranscriptExceptions.reasons(for: transcript.name)
        for difference in differences where excused[difference.step] == nil {
            Issue.record("\(file): \(difference)")
        }
        // An exception that is no longer needed must go.
        let differing = Set(differences.map(\.step))
        #expect(excused.keys.allSatisfy { differing.contains($0) })
    }
}
