/// A line of the modelled service.
enum ServiceLine {
    struct Bucket {
        let name: String
        let checksum: UInt32
        let count: Int?
        let priority: Int?
        let reference: Reference?
    }

    enum Reference { case defaultStream(Int), subscription(Int) }

    struct Stream {
        let name: String
        let isDefault: Bool
    }

    case checkpoint(
        last: Int64, writeCheckpoint: Int64?, buckets: [Bucket], streams: [Stream],
        truth: [ModelRow: ModelContent])
    case diff(
        last: Int64, writeCheckpoint: Int64?, updated: [Bucket], removed: [String],
        truth: [ModelRow: ModelContent])
    case data(bucket: String, [ServiceModel.Operation])
    case complete(Int64)
    case partial(Int64, priority: Int)
    case keepalive(Int)
    case unknown

    /// The JSON of the line, with what a reader has to ignore.
    var text: String {
        switch self {
        case .checkpoint(let last, let writeCheckpoint, let buckets, let streams, _):
            let streams = streams.map {
                "{\"name\":\"\($0.name)\",\"is_default\":\($0.isDefault),\"errors\":[]}"
            }
            return """
                {"checkpoint":{"last_op_id":"\(last)","write_checkpoint":\
                \(writeCheckpoint.map { "\"\($0)\"" } ?? "null"),\
                "buckets":[\(buckets.map(Self.text).joined(separator: ","))],\
                "streams":[\(streams.joined(separator: ","))]}}
                """
        case .diff(let last, let writeCheckpoint, let updated, let removed, _):
            return """
                {"checkpoint_diff":{"last_op_id":"\(last)",\
                \(writeCheckpoint.map { "\"write_checkpoint\":\"\($0)\"," } ?? "")\
                "updated_buckets":[\(updated.map(Self.text).joined(separator: ","))],\
                "removed_buckets":[\(removed.map(Self.quoted).joined(separator: ","))]}}
                """
        case .data(let bucket, let operations):
            return """
                {"data":{"bucket":\(Self.quoted(bucket)),"data":\
                [\(operations.map(Self.text).joined(separator: ","))],"has_more":false,"after":"0",\
                "next_after":"\(operations.last?.id ?? 0)"}}
                """
        case .complete(let last): return "{\"checkpoint_complete\":{\"last_op_id\":\"\(last)\"}}"
        case .partial(let last, let priority):
            return
                "{\"partial_checkpoint_complete\":{\"last_op_id\":\"\(last)\",\"priority\":\(priority)}}"
        case .keepalive(let seconds): return "{\"token_expires_in\":\(seconds)}"
        case .unknown: return "{\"line_of_2030\":{\"a\":[1,{\"b\":null}]}}"
        }
    }

    private static func text(_ bucket: Bucket) -> String {
        var members = ["\"bucket\":\(quoted(bucket.name))", "\"checksum\":\(signed(bucket.checksum))"]
        if let count = bucket.count { members.append("\"count\":\(count)") }
        if let priority = bucket.priority { members.append("\"priority\":\(priority)") }
        switch bucket.reference {
        case .defaultStream(let index): members.append("\"subscriptions\":[{\"default\":\(index)}]")
        case .subscription(let index): members.append("\"subscriptions\":[{\"sub\":\(index)}]")
        case nil: break
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static func text(_ operation: ServiceModel.Operation) -> String {
        var members = ["\"op_id\":\"\(operation.id)\"", "\"op\":\"\(operation.kind.rawValue)\""]
        if let row = operation.row {
            members.append("\"object_type\":\"\(row.type)\",\"object_id\":\"\(row.id)\"")
        }
        members.append("\"checksum\":\(operation.checksum)")
        if let subkey = operation.subkey { members.append("\"subkey\":\"\(subkey)\"") }
        members.append("\"data\":\(operation.content.map { quoted($0.text) } ?? "null")")
        return "{" + members.joined(separator: ",") + "}"
    }

    /// Checksums come signed or not (client-core 5.4).
    private static func signed(_ checksum: UInt32) -> String {
        checksum % 2 == 0 ? String(checksum) : String(Int32(bitPattern: checksum))
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "ü": quoted += "\\u00fc"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// A word for the trace.
    var summary: String {
        switch self {
        case .checkpoint(let last, let writeCheckpoint, let buckets, _, _):
            "checkpoint \(last) wc \(writeCheckpoint.map(String.init) ?? "-") \(buckets.map(\.name))"
        case .diff(let last, let writeCheckpoint, let updated, let removed, _):
            """
            diff \(last) wc \(writeCheckpoint.map(String.init) ?? "-") \(updated.map(\.name)) \
            without \(removed)
            """
        case .data(let bucket, let operations):
            "data \(bucket) "
                + operations.map {
                    "\($0.id):\($0.kind.rawValue) \($0.key ?? "") #\($0.checksum)"
                }.joined(separator: ", ")
        case .complete(let last): "complete \(last)"
        case .partial(let last, let priority): "partial \(last) priority \(priority)"
        case .keepalive(let seconds): "keepalive \(seconds)"
        case .unknown: "unknown line"
        }
    }
}
