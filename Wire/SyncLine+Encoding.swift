extension SyncLine {
    /// Writes the line as the service does: compact JSON, keys in its order, without the end of the line.
    ///
    /// - Parameter rawData: true: the data of an operation is a JSON string; false: it is embedded verbatim, as
    ///   older clients want it (service 1.7).
    /// - Returns: UTF-8.
    package func encoded(rawData: Bool = true) -> [UInt8] {
        var writer = LineWriter()
        switch self {
        case .checkpoint(let checkpoint): writer.checkpoint(checkpoint)
        case .checkpointDiff(let diff): writer.checkpointDiff(diff)
        case .data(let line): writer.dataLine(line, rawData: rawData)
        case .checkpointComplete(let lastOpID):
            writer.text("{\"checkpoint_complete\":{\"last_op_id\":\"\(lastOpID ?? 0)\"}}")
        case .partialCheckpointComplete(let lastOpID, let priority):
            writer.text(
                "{\"partial_checkpoint_complete\":{\"last_op_id\":\"\(lastOpID ?? 0)\",\"priority\":\(priority)}}"
            )
        case .tokenExpiresIn(let seconds): writer.text("{\"token_expires_in\":\(seconds)}")
        case .unknown(let key):
            writer.text("{")
            writer.quoted(key)
            writer.text(":{}}")
        }
        return writer.bytes
    }
}

private struct LineWriter {
    var bytes: [UInt8] = []

    mutating func text(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func quoted(_ text: String) { JSON.appendQuoted(text, to: &bytes) }

    mutating func list<Element>(
        _ elements: some Sequence<Element>, _ write: (inout LineWriter, Element) -> Void
    ) {
        text("[")
        for (index, element) in elements.enumerated() {
            if index > 0 { text(",") }
            write(&self, element)
        }
        text("]")
    }

    mutating func writeCheckpoint(_ number: Int64?) {
        if let number { text(",\"write_checkpoint\":\"\(number)\"") }
    }

    mutating func checkpoint(_ checkpoint: Checkpoint) {
        text("{\"checkpoint\":{\"last_op_id\":\"\(checkpoint.lastOpID)\"")
        writeCheckpoint(checkpoint.writeCheckpoint)
        text(",\"buckets\":")
        list(checkpoint.buckets) { $0.bucket($1) }
        text(",\"streams\":")
        list(checkpoint.streams) { $0.stream($1) }
        text("}}")
    }

    mutating func checkpointDiff(_ diff: CheckpointDiff) {
        text("{\"checkpoint_diff\":{\"last_op_id\":\"\(diff.lastOpID)\"")
        writeCheckpoint(diff.writeCheckpoint)
        text(",\"removed_buckets\":")
        list(diff.removedBuckets) { $0.quoted($1) }
        text(",\"updated_buckets\":")
        list(diff.updatedBuckets) { $0.bucket($1) }
        text("}}")
    }

    mutating func bucket(_ bucket: BucketChecksum) {
        text("{\"bucket\":")
        quoted(bucket.bucket)
        text(",\"checksum\":\(bucket.checksum.signed)")
        if let count = bucket.count { text(",\"count\":\(count)") }
        if let priority = bucket.priority { text(",\"priority\":\(priority)") }
        text(",\"subscriptions\":")
        list(bucket.subscriptions) { writer, reason in
            switch reason {
            case .defaultStream(let index): writer.text("{\"default\":\(index)}")
            case .subscription(let index): writer.text("{\"sub\":\(index)}")
            }
        }
        text("}")
    }

    mutating func stream(_ stream: StreamDescription) {
        text("{\"name\":")
        quoted(stream.name)
        text(",\"is_default\":\(stream.isDefault),\"errors\":")
        list(stream.errors) { writer, error in
            writer.text("{\"subscription\":")
            writer.text(error.subscription.map(String.init) ?? "\"default\"")
            writer.text(",\"message\":")
            writer.quoted(error.message)
            writer.text("}")
        }
        text("}")
    }

    mutating func dataLine(_ line: DataLine, rawData: Bool) {
        text("{\"data\":{\"bucket\":")
        quoted(line.bucket)
        text(",\"after\":\"\(line.after ?? 0)\",\"has_more\":\(line.hasMore),\"data\":")
        list(line.operations) { $0.operation($1, rawData: rawData) }
        text(",\"next_after\":\"\(line.nextAfter ?? line.operations.last?.id ?? 0)\"}}")
    }

    mutating func operation(_ operation: Operation, rawData: Bool) {
        text("{\"op_id\":\"\(operation.id)\",\"op\":\"\(operation.kind.rawValue)\"")
        if let type = operation.objectType {
            text(",\"object_type\":")
            quoted(type)
        }
        if let id = operation.objectID {
            text(",\"object_id\":")
            quoted(id)
        }
        // A CLEAR carries a sum, which the service stores and sends signed (service 4.2).
        let isSum = operation.kind == .clear
        text(",\"checksum\":\(isSum ? Int64(operation.checksum.signed) : Int64(operation.checksum.value))")
        if let subkey = operation.subkey {
            text(",\"subkey\":")
            quoted(subkey)
        }
        if let data = operation.data {
            text(",\"data\":")
            if rawData { quoted(data) } else { text(data) }
        } else if operation.kind == .remove || !rawData {
            text(",\"data\":null")
        }
        text("}")
    }
}
