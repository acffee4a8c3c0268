import Foundation
import PowerSync
import PowerSyncConformance
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The official core's recordings, replayed step by step.
@Suite struct TranscriptTests {
    /// From the folders `curated` and `random`.
    static let files: [String] = {
        let files = try? Repository.fixtureFiles("core")
        return (files ?? []).map { $0.pathComponents.suffix(2).joined(separator: "/") }
    }()

    @Test func allRecordingsAreHere() { #expect(Self.files.count == 99) }

    enum Way: CaseIterable { case asShipped, lineByLine, scanning, functions, plain }

    /// With data lines stored together and each by itself, with a scan for the smallest change, through
    /// `powersync_control`, and by the store to which ours is compared elsewhere.
    @Test(arguments: files, Way.allCases)
    func answersAsTheOfficialCoreDoes(_ file: String, _ way: Way) throws {
        let transcript = try Transcript(
            parsing: try Repository.fixture("core/\(file)"))
        let folder = try TemporaryDirectory(prefix: "powersync-transcript-")
        defer { folder.remove() }
        let path = folder.path + "/replay.db"
        let run: TranscriptRun
        switch way {
        case .asShipped: run = try TranscriptRun(transcript, path: path)
        case .lineByLine: run = try TranscriptRun(transcript, path: path, way: .lines)
        case .scanning:
            var tuning = StorageTuning.standard
            tuning.scannedRows = 1
            run = try TranscriptRun(transcript, path: path, tuning: tuning)
        case .functions: run = try TranscriptRun(transcript, path: ":memory:", way: .functions)
        case .plain:
            run = try TranscriptRun(transcript, path: path, way: .lines) { try PlainStore($0).perform($1) }
        }
        for failure in run.failures { Issue.record("\(file): \(failure)") }
        // An exception that is no longer needed must go.
        #expect(run.unused.isEmpty)
    }
}
