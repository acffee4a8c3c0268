import CPowerSyncLossyFiles
import Foundation
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncWire

/// What a process tells others of its state, in a file that SQLite knows nothing of: a kill loses nothing of it.
final class StoreJournal: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What the source has committed before anything is told of it.
    static let firstCommits = 20

    private let descriptor: Int32

    /// Opens the file to go on behind what is in it.
    init(path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(description: "cannot open \(path)") }
    }

    deinit { close(descriptor) }

    /// Where the standard error of the process is kept that writes a journal.
    static func errors(of journal: String) -> String { journal + ".errors" }

    /// Runs what a process does that writes a journal, and keeps what it says by its standard error in a file.
    ///
    /// Whoever started it may not observe it (`ProcessTurn`). An error that the body of an exit test throws ends it by SIGILL
    /// without a word, as some traps do: so both are told here.
    static func keepingErrors(beside journal: String, _ body: () async throws -> Void) async throws {
        let file = open(errors(of: journal), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0, dup2(file, 2) == 2 else { preconditionFailure("cannot keep what is said") }
        close(file)
        powersync_say_traps()
        do {
            try await body()
        } catch {
            FileHandle.standardError.write(Data("it threw \(error)\n".utf8))
            throw error
        }
    }

    /// Notes that the source has committed a transaction.
    func committed(_ number: Int) { append("committed \(number)\n") }

    /// Notes that a checkpoint is stored, and published.
    func published(_ checkpoint: StoredCheckpoint, of stream: StreamNumber) {
        append("published \(stream) \(checkpoint.operation) \(checkpoint.lsn.rawValue)\n")
    }

    /// Notes that clients are served a checkpoint, which may be told before `published` is, and before its position is
    /// stored.
    func shown(_ checkpoint: StoredCheckpoint, of stream: StreamNumber) {
        append("shown \(stream) \(checkpoint.operation) \(checkpoint.lsn.rawValue)\n")
    }

    /// Notes what was in memory for a stream otherwise than on the disk.
    func differs(_ what: String) { append("differs \(what)\n") }

    /// Notes that everything up to a position was acknowledged.
    func stored(_ position: LSN, of stream: StreamNumber) {
        append("stored \(stream) \(position.rawValue)\n")
    }

    /// Notes that a client was given a write checkpoint.
    func given(_ id: Int64) { append("given \(id)\n") }

    /// Notes that something has been done.
    func did(_ moment: String) { append("did \(moment)\n") }

    /// Notes behind what the process is about to be killed.
    func killing(_ moment: String) { append("killing \(moment)\n") }

    /// In one call: the file never holds half of it.
    ///
    /// A process that cannot say what it does proves nothing.
    private func append(_ text: String) {
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            preconditionFailure("cannot write down what was told")
        }
    }

    /// What the file has so far.
    struct Content {
        /// What the state has to keep.
        var promises = StorePromises()
        /// The checkpoints that clients were shown, for each stream in the order in which they were; behind a kill
        /// positions may go back.
        var shown: [StreamNumber: [StoredCheckpoint]] = [:]
        /// What was in memory otherwise than on the disk.
        var differing: [String] = []
        /// The last transaction of the source.
        var committed = StoreJournal.firstCommits
        /// How often something was done.
        var done: [String: Int] = [:]
        /// How often the process was killed behind something.
        var killed: [String: Int] = [:]
    }

    /// Reads the file; one that is missing has nothing.
    static func content(of path: String) throws -> Content {
        var content = Content()
        guard FileManager.default.fileExists(atPath: path) else { return content }
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("differs ") {
                content.differing.append(String(line))
                continue
            }
            let words = line.split(separator: " ").map(String.init)
            let numbers = words.dropFirst().compactMap { Int64($0) }
            switch (words[0], numbers.count) {
            case ("did", 0) where words.count == 2: content.done[words[1], default: 0] += 1
            case ("killing", 0) where words.count == 2: content.killed[words[1], default: 0] += 1
            case ("committed", 1): content.committed = Int(numbers[0])
            case ("shown", 3):
                content.shown[numbers[0], default: []].append(
                    StoredCheckpoint(operation: numbers[1], lsn: LSN(rawValue: UInt64(numbers[2]))))
            case ("stored", 2):
                let furthest = content.promises.acknowledged[numbers[0]] ?? .zero
                content.promises.acknowledged[numbers[0]] = max(
                    furthest, LSN(rawValue: UInt64(numbers[1])))
            case ("published", 3):
                content.promises.published[numbers[0], default: []].append(
                    StoredCheckpoint(operation: numbers[1], lsn: LSN(rawValue: UInt64(numbers[2]))))
            case ("given", 1):
                content.promises.writeCheckpoints[ExactText(StoreSession.writeCheckpointKey)] = numbers[0]
            default: throw Failure(description: "nobody writes \(line)")
            }
        }
        return content
    }
}
