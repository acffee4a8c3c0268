extension SyncLine {
    /// Reads one line of a stream that was requested with `raw_data`.
    ///
    /// A key of a later protocol gives `.unknown`; its value is checked to be JSON and skipped. Such a key beside a
    /// known one is skipped too, where the official core would refuse the line for ever.
    ///
    /// - Parameter line: the JSON text in UTF-8, without the end of the line.
    /// - Throws: `WireError` for a text that is no JSON object, has no key or two of a kind, or lacks a required field,
    ///   or has one of another type or out of range (client-core 5.3, 5.4).
    package init(parsing line: [UInt8]) throws(WireError) {
        self = try JSON.reading(line, limits: .standard) { (scanner: inout JSONScanner) throws(WireError) in
            var known: SyncLine?
            var unknown: SyncLine?
            try scanner.beginObject()
            var isFirst = true
            while let key = try scanner.nextName(isFirst: isFirst) {
                isFirst = false
                let line = try SyncLine(key: key, from: &scanner)
                if case .unknown = line {
                    guard unknown == nil else {
                        throw WireError(.invalidField, "a line has a second unknown key")
                    }
                    unknown = line
                } else {
                    guard known == nil else { throw WireError(.invalidField, "a line has a second key") }
                    known = line
                }
            }
            guard let line = known ?? unknown else { throw WireError(.invalidField, "a line needs a key") }
            return line
        }
    }

    private init(key: String, from scanner: inout JSONScanner) throws(WireError) {
        switch key {
        case "checkpoint": self = .checkpoint(try Checkpoint(from: &scanner))
        case "checkpoint_diff": self = .checkpointDiff(try CheckpointDiff(from: &scanner))
        case "data": self = .data(try DataLine(from: &scanner))
        case "checkpoint_complete":
            // The payload is not read (client-core 5.3), but it must be an object.
            try scanner.object { (_, scanner) throws(WireError) in try scanner.skip() }
            self = .checkpointComplete(lastOpID: nil)
        case "partial_checkpoint_complete":
            var priority: Int?
            try scanner.object { (name, scanner) throws(WireError) in
                if name == "priority" { priority = try scanner.priority() } else { try scanner.skip() }
            }
            self = .partialCheckpointComplete(
                lastOpID: nil, priority: try required(priority, "partial_checkpoint_complete.priority"))
        case "token_expires_in":
            guard let seconds = Int32(try scanner.number()) else {
                throw .field("token_expires_in", "a whole number of seconds in 32 bits")
            }
            self = .tokenExpiresIn(Int(seconds))
        default:
            try scanner.skip()
            self = .unknown(key: key)
        }
    }
}

private func required<Value>(_ value: Value?, _ path: String) throws(WireError) -> Value {
    guard let value else { throw .field(path, "a value") }
    return value
}

extension Checkpoint {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var lastOpID: OperationID?
        var writeCheckpoint: Int64?
        var buckets: [BucketChecksum]?
        var streams: [StreamDescription] = []
        try scanner.object { (name, scanner) throws(WireError) in
            switch name {
            case "last_op_id": lastOpID = try scanner.decimal("checkpoint.last_op_id")
            case "write_checkpoint":
                writeCheckpoint = try scanner.optionalDecimal("checkpoint.write_checkpoint")
            case "buckets":
                buckets = try scanner.array { (scanner) throws(WireError) in
                    try BucketChecksum(from: &scanner)
                }
            case "streams":
                streams = try scanner.array { (scanner) throws(WireError) in
                    try StreamDescription(from: &scanner)
                }
            default: try scanner.skip()
            }
        }
        self.init(
            lastOpID: try required(lastOpID, "checkpoint.last_op_id"), writeCheckpoint: writeCheckpoint,
            buckets: try required(buckets, "checkpoint.buckets"), streams: streams)
    }
}

extension CheckpointDiff {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var lastOpID: OperationID?
        var writeCheckpoint: Int64?
        var updated: [BucketChecksum]?
        var removed: [String]?
        try scanner.object { (name, scanner) throws(WireError) in
            switch name {
            case "last_op_id": lastOpID = try scanner.decimal("checkpoint_diff.last_op_id")
            case "write_checkpoint":
                writeCheckpoint = try scanner.optionalDecimal("checkpoint_diff.write_checkpoint")
            case "updated_buckets":
                updated = try scanner.array { (scanner) throws(WireError) in
                    try BucketChecksum(from: &scanner)
                }
            case "removed_buckets":
                removed = try scanner.array { (scanner) throws(WireError) in try scanner.string() }
            default: try scanner.skip()
            }
        }
        self.init(
            lastOpID: try required(lastOpID, "checkpoint_diff.last_op_id"), writeCheckpoint: writeCheckpoint,
            updatedBuckets: try required(updated, "checkpoint_diff.updated_buckets"),
            removedBuckets: try required(removed, "checkpoint_diff.removed_buckets"))
    }
}

extension BucketChecksum {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var bucket: String?
        var checksum: Checksum?
        var priority: Int?
        var count: Int64?
        var reasons: [SubscriptionReason] = []
        try scanner.object { (name, scanner) throws(WireError) in
            switch name {
            case "bucket": bucket = try scanner.string()
            case "checksum": checksum = try scanner.checksum()
            case "priority": if try !scanner.passNull() { priority = try scanner.priority() }
            case "count": if try !scanner.passNull() { count = try scanner.whole("count") }
            case "subscriptions":
                if try !scanner.passNull() {
                    reasons = try scanner.array { (scanner) throws(WireError) in
                        try SubscriptionReason(from: &scanner)
                    }
                }
            default: try scanner.skip()
            }
        }
        self.init(
            bucket: try required(bucket, "bucket"), checksum: try required(checksum, "bucket.checksum"),
            priority: priority, count: count, subscriptions: reasons)
    }
}

extension SubscriptionReason {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var reason: SubscriptionReason?
        try scanner.object { (name, scanner) throws(WireError) in
            let index = try scanner.whole("subscriptions")
            guard reason == nil, index >= 0 else { throw .field("subscriptions", "one index from 0") }
            switch name {
            case "default": reason = .defaultStream(Int(index))
            case "sub": reason = .subscription(Int(index))
            default: throw .field("subscriptions", "\"default\" or \"sub\"")
            }
        }
        self = try required(reason, "subscriptions")
    }
}

extension StreamDescription {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var name: String?
        var isDefault: Bool?
        var errors: [StreamError]?
        try scanner.object { (key, scanner) throws(WireError) in
            switch key {
            case "name": name = try scanner.string()
            case "is_default": isDefault = try scanner.bool()
            case "errors":
                errors = try scanner.array { (scanner) throws(WireError) in try StreamError(from: &scanner) }
            default: try scanner.skip()
            }
        }
        self.init(
            name: try required(name, "streams.name"),
            isDefault: try required(isDefault, "streams.is_default"),
            errors: try required(errors, "streams.errors"))
    }
}

extension StreamError {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var subscription: Int??
        var message: String?
        try scanner.object { (key, scanner) throws(WireError) in
            switch key {
            case "subscription":
                if try scanner.peek() == .string {
                    // Any text means the default subscription (client-core 5.3).
                    _ = try scanner.string()
                    subscription = .some(nil)
                } else {
                    subscription = .some(Int(try scanner.whole("errors.subscription")))
                }
            case "message": message = try scanner.string()
            default: try scanner.skip()
            }
        }
        self.init(
            subscription: try required(subscription, "errors.subscription"),
            message: try required(message, "errors.message"))
    }
}

extension DataLine {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var bucket: String?
        var operations: [Operation]?
        var line = DataLine(bucket: "", operations: [])
        try scanner.object { (name, scanner) throws(WireError) in
            switch name {
            case "bucket": bucket = try scanner.string()
            case "data":
                operations = try scanner.array { (scanner) throws(WireError) in try Operation(from: &scanner)
                }
            // The client ignores these three (client-core 5.3); they are kept where they are of the usual type.
            case "after": line.after = try scanner.lenientDecimal()
            case "next_after": line.nextAfter = try scanner.lenientDecimal()
            case "has_more":
                if try scanner.peek() == .bool {
                    line.hasMore = try scanner.bool()
                } else {
                    try scanner.skip()
                }
            default: try scanner.skip()
            }
        }
        line.bucket = try required(bucket, "data.bucket")
        line.operations = OperationList(try required(operations, "data.data"))
        self = line
    }
}

extension Operation {
    fileprivate init(from scanner: inout JSONScanner) throws(WireError) {
        var id: OperationID?
        var kind: Kind?
        var checksum: Checksum?
        var operation = Operation(id: 0, kind: .move, checksum: .zero)
        try scanner.object { (name, scanner) throws(WireError) in
            switch name {
            case "op_id": id = try scanner.decimal("op_id")
            case "op":
                kind = Kind(rawValue: try scanner.string())
                if kind == nil { throw .field("op", "PUT, REMOVE, MOVE or CLEAR") }
            case "checksum": checksum = try scanner.checksum()
            case "object_type": operation.objectType = try scanner.optionalString()
            case "object_id": operation.objectID = try scanner.optionalString()
            case "subkey": operation.subkey = try scanner.optionalString()
            case "data": operation.data = try scanner.optionalString()
            default: try scanner.skip()
            }
        }
        operation.id = try required(id, "op_id")
        operation.kind = try required(kind, "op")
        operation.checksum = try required(checksum, "checksum")
        self = operation
    }
}
