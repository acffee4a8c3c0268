import PowerSync
import PowerSyncWire

/// Sync lines as text, with only the fields that a test cares about.
enum SyncLines {
    /// Reads a data line.
    static func storable(_ text: String) throws -> StorableLine {
        guard case .data(let line) = try SyncLine(parsing: Array(text.utf8)) else {
            throw ScriptError("no data line: \(text)")
        }
        return try StorableLine(line, size: text.utf8.count)
    }

    struct Bucket {
        var name: String
        var checksum: Int64 = 0
        var priority = 3
        var count = 1
        var subscriptions = "[]"

        init(
            _ name: String, checksum: Int64 = 0, priority: Int = 3, count: Int = 1,
            subscriptions: String = "[]"
        ) {
            self.name = name
            self.checksum = checksum
            self.priority = priority
            self.count = count
            self.subscriptions = subscriptions
        }

        var text: String {
            """
            {"bucket":\(JSON.quoted(name)),"checksum":\(checksum),"priority":\(priority),"count":\(count),\
            "subscriptions":\(subscriptions)}
            """
        }
    }

    static func checkpoint(
        _ lastOp: Int, _ buckets: [Bucket], writeCheckpoint: Int? = nil, streams: String = "[]"
    ) -> String {
        """
        {"checkpoint":{"last_op_id":"\(lastOp)",\(field(writeCheckpoint))"buckets":[\(list(buckets))],\
        "streams":\(streams)}}
        """
    }

    static func diff(
        _ lastOp: Int, updated: [Bucket] = [], removed: [String] = [], writeCheckpoint: Int? = nil
    ) -> String {
        """
        {"checkpoint_diff":{"last_op_id":"\(lastOp)",\(field(writeCheckpoint))\
        "updated_buckets":[\(list(updated))],\
        "removed_buckets":[\(removed.map { JSON.quoted($0) }.joined(separator: ","))]}}
        """
    }

    static func data(_ bucket: String, _ operations: String...) -> String {
        "{\"data\":{\"bucket\":\(JSON.quoted(bucket)),\"data\":[\(operations.joined(separator: ","))]}}"
    }

    static func put(
        _ op: Int, _ id: String, checksum: Int64 = 0, type: String = "items", subkey: String? = nil,
        data: String? = nil
    ) -> String {
        let data = data ?? "{\"col\":\"\(id)-\(op)\"}"
        return """
            {"op_id":"\(op)","op":"PUT","object_type":"\(type)","object_id":"\(id)","checksum":\(checksum),\
            "subkey":\(subkey.map { JSON.quoted($0) } ?? "null"),"data":\(JSON.quoted(data))}
            """
    }

    static func remove(_ op: Int, _ id: String, checksum: Int64 = 0, subkey: String? = nil) -> String {
        """
        {"op_id":"\(op)","op":"REMOVE","object_type":"items","object_id":"\(id)","checksum":\(checksum),\
        "subkey":\(subkey.map { JSON.quoted($0) } ?? "null"),"data":null}
        """
    }

    static func bare(_ op: Int, _ kind: String, checksum: Int64) -> String {
        "{\"op_id\":\"\(op)\",\"op\":\"\(kind)\",\"checksum\":\(checksum)}"
    }

    static func complete(_ lastOp: Int = 1) -> String {
        "{\"checkpoint_complete\":{\"last_op_id\":\"\(lastOp)\"}}"
    }

    static func partial(_ priority: Int, _ lastOp: Int = 1) -> String {
        "{\"partial_checkpoint_complete\":{\"last_op_id\":\"\(lastOp)\",\"priority\":\(priority)}}"
    }

    static func tokenExpires(in seconds: Int) -> String { "{\"token_expires_in\":\(seconds)}" }

    private static func field(_ writeCheckpoint: Int?) -> String {
        writeCheckpoint.map { "\"write_checkpoint\":\"\($0)\"," } ?? ""
    }

    private static func list(_ buckets: [Bucket]) -> String {
        buckets.map(\.text).joined(separator: ",")
    }
}
