extension SyncLine {
    /// Writes the line in BSON, fields in the order of the service.
    ///
    /// A name ends at its first NUL, so a key of an unknown line that holds one is cut there.
    ///
    /// - Parameter wideIntegers: false: numbers as JavaScript writes them, 32 bits if they fit, else a double if
    ///   that is exact, else 64 bits; true: all of them in 64 bits.
    /// - Returns: one document.
    package func encodedBSON(wideIntegers: Bool = false) -> [UInt8] {
        var writer = BSONWriter(wideIntegers: wideIntegers)
        writer.document { writer in
            switch self {
            case .checkpoint(let checkpoint): writer.checkpoint(checkpoint)
            case .checkpointDiff(let diff): writer.checkpointDiff(diff)
            case .data(let line): writer.dataLine(line)
            case .checkpointComplete(let lastOpID):
                writer.document("checkpoint_complete") { $0.text("last_op_id", "\(lastOpID ?? 0)") }
            case .partialCheckpointComplete(let lastOpID, let priority):
                writer.document("partial_checkpoint_complete") {
                    $0.text("last_op_id", "\(lastOpID ?? 0)")
                    $0.integer("priority", Int64(priority))
                }
            case .tokenExpiresIn(let seconds): writer.integer("token_expires_in", Int64(seconds))
            case .unknown(let key): writer.document(key) { _ in }
            }
        }
        return writer.bytes
    }
}

private struct BSONWriter {
    var bytes: [UInt8] = []
    let wideIntegers: Bool

    init(wideIntegers: Bool) { self.wideIntegers = wideIntegers }

    // MARK: Values

    mutating func raw(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func name(_ name: String, type: UInt8) {
        bytes.append(type)
        bytes.append(contentsOf: name.utf8.prefix { $0 != 0 })
        bytes.append(0)
    }

    mutating func document(_ body: (inout BSONWriter) -> Void) {
        let start = bytes.count
        raw(Int32(0))
        body(&self)
        bytes.append(0)
        let length = Int32(bytes.count - start)
        withUnsafeBytes(of: length.littleEndian) { bytes.replaceSubrange(start..<start + 4, with: $0) }
    }

    mutating func document(_ name: String, _ body: (inout BSONWriter) -> Void) {
        self.name(name, type: 3)
        document(body)
    }

    mutating func array<Element>(
        _ name: String, _ elements: some Sequence<Element>,
        _ write: (inout BSONWriter, String, Element) -> Void
    ) {
        self.name(name, type: 4)
        document { writer in
            for (index, element) in elements.enumerated() { write(&writer, String(index), element) }
        }
    }

    mutating func text(_ name: String, _ text: String) {
        self.name(name, type: 2)
        raw(Int32(text.utf8.count + 1))
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
    }

    mutating func bool(_ name: String, _ value: Bool) {
        self.name(name, type: 8)
        bytes.append(value ? 1 : 0)
    }

    mutating func integer(_ name: String, _ number: Int64) {
        if !wideIntegers, let narrow = Int32(exactly: number) {
            self.name(name, type: 16)
            raw(narrow)
        } else if !wideIntegers, let double = Double(exactly: number) {
            self.name(name, type: 1)
            raw(double.bitPattern)
        } else {
            self.name(name, type: 18)
            raw(number)
        }
    }

    // MARK: Fields

    mutating func writeCheckpoint(_ number: Int64?) {
        if let number { text("write_checkpoint", "\(number)") }
    }

    mutating func checkpoint(_ checkpoint: Checkpoint) {
        document("checkpoint") { writer in
            writer.text("last_op_id", "\(checkpoint.lastOpID)")
            writer.writeCheckpoint(checkpoint.writeCheckpoint)
            writer.array("buckets", checkpoint.buckets) { $0.bucket($1, $2) }
            writer.array("streams", checkpoint.streams) { $0.stream($1, $2) }
        }
    }

    mutating func checkpointDiff(_ diff: CheckpointDiff) {
        document("checkpoint_diff") { writer in
            writer.text("last_op_id", "\(diff.lastOpID)")
            writer.writeCheckpoint(diff.writeCheckpoint)
            writer.array("removed_buckets", diff.removedBuckets) { $0.text($1, $2) }
            writer.array("updated_buckets", diff.updatedBuckets) { $0.bucket($1, $2) }
        }
    }

    mutating func bucket(_ name: String, _ bucket: BucketChecksum) {
        document(name) { writer in
            writer.text("bucket", bucket.bucket)
            writer.integer("checksum", Int64(bucket.checksum.signed))
            if let count = bucket.count { writer.integer("count", count) }
            if let priority = bucket.priority { writer.integer("priority", Int64(priority)) }
            writer.array("subscriptions", bucket.subscriptions) { writer, name, reason in
                writer.document(name) { writer in
                    switch reason {
                    case .defaultStream(let index): writer.integer("default", Int64(index))
                    case .subscription(let index): writer.integer("sub", Int64(index))
                    }
                }
            }
        }
    }

    mutating func stream(_ name: String, _ stream: StreamDescription) {
        document(name) { writer in
            writer.text("name", stream.name)
            writer.bool("is_default", stream.isDefault)
            writer.array("errors", stream.errors) { writer, name, error in
                writer.document(name) { writer in
                    if let subscription = error.subscription {
                        writer.integer("subscription", Int64(subscription))
                    } else {
                        writer.text("subscription", "default")
                    }
                    writer.text("message", error.message)
                }
            }
        }
    }

    mutating func dataLine(_ line: DataLine) {
        document("data") { writer in
            writer.text("bucket", line.bucket)
            if let after = line.after { writer.text("after", "\(after)") }
            writer.bool("has_more", line.hasMore)
            writer.array("data", line.operations) { $0.operation($1, $2) }
            if let nextAfter = line.nextAfter { writer.text("next_after", "\(nextAfter)") }
        }
    }

    mutating func operation(_ name: String, _ operation: Operation) {
        document(name) { writer in
            writer.text("op_id", "\(operation.id)")
            writer.text("op", operation.kind.rawValue)
            if let type = operation.objectType { writer.text("object_type", type) }
            if let id = operation.objectID { writer.text("object_id", id) }
            let isSum = operation.kind == .clear
            writer.integer(
                "checksum", isSum ? Int64(operation.checksum.signed) : Int64(operation.checksum.value))
            if let subkey = operation.subkey { writer.text("subkey", subkey) }
            if let data = operation.data {
                writer.text("data", data)
            } else if operation.kind == .remove {
                writer.name("data", type: 10)
            }
        }
    }
}
