import Foundation
import PowerSyncWire

/// Counts what inputs turned out to be.
struct Tally {
    private static let kinds = [
        "checkpoint", "checkpoint_diff", "data", "checkpoint_complete", "partial_checkpoint_complete",
        "token_expires_in", "unknown",
    ]
    private var decoded: [LineFormat: [Int]] = [:]
    private var refused: [LineFormat: Int] = [:]
    private var operations = 0
    private var streams: [LineFormat: Int] = [:]

    mutating func count(_ line: SyncLine, _ format: LineFormat) {
        let kind: Int
        switch line {
        case .checkpoint: kind = 0
        case .checkpointDiff: kind = 1
        case .data(let data):
            kind = 2
            operations += data.operations.count
        case .checkpointComplete: kind = 3
        case .partialCheckpointComplete: kind = 4
        case .tokenExpiresIn: kind = 5
        case .unknown: kind = 6
        }
        decoded[format, default: Array(repeating: 0, count: Self.kinds.count)][kind] += 1
    }

    mutating func countRefused(_ format: LineFormat) { refused[format, default: 0] += 1 }

    mutating func countStream(_ format: LineFormat) { streams[format, default: 0] += 1 }

    func report() {
        for format in LineFormat.allCases {
            print("decoded from \(format.rawValue):")
            for (kind, count) in zip(Self.kinds, decoded[format] ?? []) { print("  \(kind): \(count)") }
            print("  refused: \(refused[format] ?? 0); streams cut in chunks: \(streams[format] ?? 0)")
        }
        print("operations in all: \(operations)")
        fflush(nil)
    }
}
