import PowerSyncConformance
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Replays recordings of the official core and tells what differs.
package struct CoreConformance: Sendable {
    /// How the steps of a recording are done.
    package var way = TranscriptWay.batches
    /// Whether files that pass get a line too.
    package var isVerbose = false
    /// Receives each line of the report.
    package var print: @Sendable (String) -> Void
    /// Receives how many files are done, of how many, and which one is next.
    package var progress: @Sendable (_ done: Int, _ total: Int, _ next: String) -> Void = { _, _, _ in }

    /// Makes a run.
    ///
    /// - Parameter print: receives each line of the report.
    package init(print: @escaping @Sendable (String) -> Void) { self.print = print }

    /// Replays every `*.json` below a folder.
    ///
    /// - Parameters:
    ///   - path: the folder, or one file.
    ///   - scratch: a folder for the databases; each is removed when its file is done.
    /// - Returns: whether all passed.
    /// - Throws: `StackError` if there is nothing to replay, `CancellationError`.
    package func run(_ path: String, scratch: String) throws -> Bool {
        let files = try JSONFiles.below(path)
        var failed = 0
        for (index, file) in files.enumerated() {
            try Task.checkCancellation()
            progress(index, files.count, file)
            let database = "\(scratch)/\(index).db"
            if !passes(file, database: database) { failed += 1 }
            for suffix in ["", "-wal", "-shm"] {
                // A file that is not there need not go, and the folder itself goes at the end.
                try? FileManager.default.removeItem(atPath: database + suffix)
            }
        }
        print("\(files.count - failed) passed, \(failed) failed")
        return failed == 0
    }

    private func passes(_ file: String, database: String) -> Bool {
        do {
            let transcript = try Transcript(parsing: Array(TextFile.read(file).utf8))
            let run = try TranscriptRun(transcript, path: database, way: way)
            for failure in run.failures { print("\(file): \(failure)") }
            if isVerbose, run.failures.isEmpty { print("\(file): passed\(Self.note(run))") }
            return run.failures.isEmpty
        } catch let error as StackError {
            print(error.message)
        } catch {
            print("\(file): \(error)")
        }
        return false
    }

    private static func note(_ run: TranscriptRun) -> String {
        guard !run.excused.isEmpty else { return "" }
        let steps = run.excused.keys.sorted().map(String.init).joined(separator: ", ")
        let reasons = Set(run.excused.values).sorted().joined(separator: " ")
        return "; differs on purpose at \(steps): \(reasons)"
    }
}
