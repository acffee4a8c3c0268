import Foundation
import PowerSync
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

    enum Way: CaseIterable { case asShipped, plain, walking, functions }

    /// With the settings that ship, without coalescing and fast paths, with a walk for the smallest change, and through
    /// `powersync_control`.
    @Test(arguments: files, Way.allCases)
    func answersAsTheOfficialCoreDoes(_ file: String, _ way: Way) throws {
        let transcript = try Transcript(
            parsing: try Repository.fixture("core/\(file)"))
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
