import Foundation

/// The decoders of sync lines and of streams of them.
struct LineTarget: FuzzTarget {
    static let words = [
        "checkpoint", "checkpoint_diff", "data", "checkpoint_complete", "partial_checkpoint_complete",
        "token_expires_in", "last_op_id", "write_checkpoint", "buckets", "updated_buckets", "removed_buckets",
        "bucket", "checksum", "priority", "count", "subscriptions", "streams", "errors", "after",
        "next_after",
        "has_more", "op_id", "op", "object_type", "object_id", "subkey", "PUT", "REMOVE", "MOVE", "CLEAR",
    ]

    private(set) var tally = Tally()

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] { try RecordedLines.inputs(fixtures) }

    mutating func check(_ input: [UInt8]) { LineInput(bytes: input)?.check(counting: &tally) }
}
