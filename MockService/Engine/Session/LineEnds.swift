import PowerSyncWire

/// What stands before and behind the operations of a data line: all of it that differs from stream to stream.
struct LineEnds {
    /// Before the operations.
    let prefix: [UInt8]
    /// Behind them, with the end of the line.
    let suffix: [UInt8]

    /// Writes both.
    ///
    /// - Parameters:
    ///   - format: How the line is spelled.
    ///   - bucket: The bucket's name.
    ///   - after: The position behind which the line begins.
    ///   - nextAfter: The last operation of the line.
    ///   - hasMore: Whether more lines of the bucket may follow.
    ///   - count: How many bytes the operations have in that format.
    init(
        _ format: LineForm.Format, bucket: String, after: OperationID, nextAfter: OperationID, hasMore: Bool,
        count: Int
    ) {
        if format == .bson {
            (prefix, suffix) = Self.bson(bucket, after, nextAfter, hasMore, count)
        } else {
            (prefix, suffix) = Self.json(bucket, after, nextAfter, hasMore)
        }
    }

    private static func json(
        _ bucket: String, _ after: OperationID, _ nextAfter: OperationID, _ hasMore: Bool
    ) -> (prefix: [UInt8], suffix: [UInt8]) {
        var prefix = Array("{\"data\":{\"bucket\":".utf8)
        JSON.appendQuoted(bucket, to: &prefix)
        prefix.append(contentsOf: ",\"after\":\"\(after)\",\"has_more\":\(hasMore),\"data\":[".utf8)
        return (prefix, Array("],\"next_after\":\"\(nextAfter)\"}}\n".utf8))
    }

    /// Each document begins with its length, so all of them must be known at the beginning.
    private static func bson(
        _ bucket: String, _ after: OperationID, _ nextAfter: OperationID, _ hasMore: Bool, _ count: Int
    ) -> (prefix: [UInt8], suffix: [UInt8]) {
        var fields = BSONText.element("bucket", bucket)
        fields += BSONText.element("after", "\(after)")
        fields += BSONText.name("has_more", type: 8)
        fields.append(hasMore ? 1 : 0)
        fields += BSONText.name("data", type: 4)
        let lastField = BSONText.element("next_after", "\(nextAfter)")
        let name = BSONText.name("data", type: 3)
        // A document has four bytes before its elements and one behind them.
        let operations = 4 + count + 1
        let payload = 4 + fields.count + operations + lastField.count + 1
        var prefix = BSONText.number(Int32(4 + name.count + payload + 1))
        prefix += name
        prefix += BSONText.number(Int32(payload))
        prefix += fields
        prefix += BSONText.number(Int32(operations))
        return (prefix, [0] + lastField + [0, 0])
    }
}
