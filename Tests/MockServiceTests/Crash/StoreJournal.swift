import Foundation
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncWire

/// What a process tells others of its state, in a file that SQLite knows nothing of: a kill loses nothing of it.
final class StoreJournal {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let descriptor: Int32

    /// Opens the file to go on behind what is in it.
    init(path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(description: "cannot open \(path)") }
    }

    deinit { close(descriptor) }

    /// Notes that a checkpoint was published, and that everything up to it was acknowledged.
    func published(_ checkpoint: StoredCheckpoint, of stream: StreamNumber) throws {
        let position = checkpoint.lsn.rawValue
        try append("stored \(stream) \(position)\npublished \(stream) \(checkpoint.operation) \(position)\n")
    }

    /// Notes that a client was given a write checkpoint.
    func given(_ id: Int64) throws { try append("given \(id)\n") }

    /// Notes what upkeep has done.
    func kept(_ step: String) throws { try append("kept \(step)\n") }

    /// In one call: the file never holds half of it.
    private func append(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(description: "cannot write down what was told")
        }
    }

    /// The lines so far; none if there is no file.
    private static func lines(in path: String) throws -> [Substring] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    }

    /// Reads how often upkeep has done what.
    static func kept(in path: String) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for line in try lines(in: path) {
            let words = line.split(separator: " ")
            if words[0] == "kept", words.count == 2 { counts[String(words[1]), default: 0] += 1 }
        }
        return counts
    }

    /// Reads what was told; nothing if there is no file.
    static func promises(in path: String) throws -> StorePromises {
        var promises = StorePromises()
        for line in try lines(in: path) {
            let words = line.split(separator: " ")
            if words[0] == "kept" { continue }
            let numbers = words.dropFirst().compactMap { Int64($0) }
            switch (words[0], numbers.count) {
            case ("stored", 2):
                let furthest = promises.acknowledged[numbers[0]] ?? .zero
                promises.acknowledged[numbers[0]] = max(furthest, LSN(rawValue: UInt64(numbers[1])))
            case ("published", 3):
                promises.published[numbers[0], default: []].append(
                    StoredCheckpoint(operation: numbers[1], lsn: LSN(rawValue: UInt64(numbers[2]))))
            case ("given", 1):
                promises.writeCheckpoints[ExactText(StoreSession.writeCheckpointKey)] = numbers[0]
            default: throw Failure(description: "nobody writes \(line)")
            }
        }
        return promises
    }
}
