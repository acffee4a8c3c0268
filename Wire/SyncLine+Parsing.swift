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
            try SyncLine(from: &scanner)
        }
    }

    /// Reads one line of a stream in BSON.
    ///
    /// It says the same as a line in JSON; only keys behind a known one, whatever they are, and bytes behind the
    /// document are passed unread, as in the official core.
    ///
    /// - Parameter document: the document with its length.
    /// - Throws: `WireError` for bytes that no whole document begins, and for what a line in JSON may not be either.
    package init(parsingBSON document: [UInt8]) throws(WireError) {
        let result = document.withUnsafeBufferPointer { buffer -> Result<SyncLine, WireError> in
            var scanner = BSONScanner(buffer)
            do throws(WireError) {
                return .success(try SyncLine(from: &scanner))
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    /// Reads one line in either format.
    init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var known: SyncLine?
        var unknown: SyncLine?
        try reader.object { (key, reader) throws(WireError) in
            if Reader.passesTrailingKeys, known != nil { return try reader.skip() }
            let line = try SyncLine(key: key, from: &reader)
            if case .unknown = line {
                guard unknown == nil || Reader.passesTrailingKeys else {
                    throw WireError(.invalidField, "a line has a second unknown key")
                }
                unknown = unknown ?? line
            } else {
                guard known == nil else { throw WireError(.invalidField, "a line has a second key") }
                known = line
            }
        }
        guard let line = known ?? unknown else { throw WireError(.invalidField, "a line needs a key") }
        self = line
    }

    private init<Reader: FieldReader>(key: ScannedText, from reader: inout Reader) throws(WireError) {
        switch key {
        case "checkpoint": self = .checkpoint(try Checkpoint(from: &reader))
        case "checkpoint_diff": self = .checkpointDiff(try CheckpointDiff(from: &reader))
        case "data": self = .data(try DataLine(from: &reader))
        case "checkpoint_complete":
            // The payload is not read (client-core 5.3), but it must be an object.
            try reader.object { (_, reader) throws(WireError) in try reader.skip() }
            self = .checkpointComplete(lastOpID: nil)
        case "partial_checkpoint_complete":
            var priority: Int?
            try reader.object { (name, reader) throws(WireError) in
                switch name {
                case "priority": priority = try reader.priority()
                default: try reader.skip()
                }
            }
            self = .partialCheckpointComplete(
                lastOpID: nil, priority: try required(priority, "partial_checkpoint_complete.priority"))
        case "token_expires_in": self = .tokenExpiresIn(Int(try reader.integer("token_expires_in")))
        default:
            try reader.skip()
            self = .unknown(key: key.string)
        }
    }
}

/// Returns a field that must be there.
func required<Value>(_ value: Value?, _ path: StaticString) throws(WireError) -> Value {
    guard let value else { throw .field("\(path)", "a value") }
    return value
}

extension Checkpoint {
    fileprivate init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var lastOpID: OperationID?
        var writeCheckpoint: Int64?
        var buckets: [BucketChecksum]?
        var streams: [StreamDescription] = []
        try reader.object { (name, reader) throws(WireError) in
            switch name {
            case "last_op_id": lastOpID = try reader.decimal("checkpoint.last_op_id")
            case "write_checkpoint":
                writeCheckpoint = try reader.optionalDecimal("checkpoint.write_checkpoint")
            case "buckets":
                buckets = try reader.array { (reader) throws(WireError) in
                    try BucketChecksum(from: &reader)
                }
            case "streams":
                streams = try reader.array { (reader) throws(WireError) in
                    try StreamDescription(from: &reader)
                }
            default: try reader.skip()
            }
        }
        self.init(
            lastOpID: try required(lastOpID, "checkpoint.last_op_id"), writeCheckpoint: writeCheckpoint,
            buckets: try required(buckets, "checkpoint.buckets"), streams: streams)
    }
}

extension CheckpointDiff {
    fileprivate init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var lastOpID: OperationID?
        var writeCheckpoint: Int64?
        var updated: [BucketChecksum]?
        var removed: [String]?
        try reader.object { (name, reader) throws(WireError) in
            switch name {
            case "last_op_id": lastOpID = try reader.decimal("checkpoint_diff.last_op_id")
            case "write_checkpoint":
                writeCheckpoint = try reader.optionalDecimal("checkpoint_diff.write_checkpoint")
            case "updated_buckets":
                updated = try reader.array { (reader) throws(WireError) in
                    try BucketChecksum(from: &reader)
                }
            case "removed_buckets":
                removed = try reader.array { (reader) throws(WireError) in try reader.string() }
            default: try reader.skip()
            }
        }
        self.init(
            lastOpID: try required(lastOpID, "checkpoint_diff.last_op_id"), writeCheckpoint: writeCheckpoint,
            updatedBuckets: try required(updated, "checkpoint_diff.updated_buckets"),
            removedBuckets: try required(removed, "checkpoint_diff.removed_buckets"))
    }
}

extension BucketChecksum {
    fileprivate init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var bucket: String?
        var checksum: Checksum?
        var priority: Int?
        var count: Int64?
        var reasons: [SubscriptionReason] = []
        try reader.object { (name, reader) throws(WireError) in
            switch name {
            case "bucket": bucket = try reader.string()
            case "checksum": checksum = try reader.checksum()
            case "priority": if try !reader.passNull() { priority = try reader.priority() }
            case "count": if try !reader.passNull() { count = try reader.whole("count") }
            case "subscriptions":
                if try !reader.passNull() {
                    reasons = try reader.array { (reader) throws(WireError) in
                        try SubscriptionReason(from: &reader)
                    }
                }
            default: try reader.skip()
            }
        }
        self.init(
            bucket: try required(bucket, "bucket"), checksum: try required(checksum, "bucket.checksum"),
            priority: priority, count: count, subscriptions: reasons)
    }
}

extension SubscriptionReason {
    fileprivate init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var reason: SubscriptionReason?
        try reader.object { (name, reader) throws(WireError) in
            let index = try reader.whole("subscriptions")
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
    fileprivate init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var name: String?
        var isDefault: Bool?
        var errors: [StreamError]?
        try reader.object { (key, reader) throws(WireError) in
            switch key {
            case "name": name = try reader.string()
            case "is_default": isDefault = try reader.bool()
            case "errors":
                errors = try reader.array { (reader) throws(WireError) in try StreamError(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(
            name: try required(name, "streams.name"),
            isDefault: try required(isDefault, "streams.is_default"),
            errors: try required(errors, "streams.errors"))
    }
}

extension StreamError {
    fileprivate init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var subscription: Int??
        var message: String?
        try reader.object { (key, reader) throws(WireError) in
            switch key {
            case "subscription":
                if try reader.isNext(.string) {
                    // Any text means the default subscription (client-core 5.3).
                    _ = try reader.scannedText()
                    subscription = .some(nil)
                } else {
                    subscription = .some(Int(try reader.whole("errors.subscription")))
                }
            case "message": message = try reader.string()
            default: try reader.skip()
            }
        }
        self.init(
            subscription: try required(subscription, "errors.subscription"),
            message: try required(message, "errors.message"))
    }
}
