import PowerSyncWire

/// What a client makes of the lines of a stream, and which rules of the protocol they break (service 3.3).
struct StreamModel: CustomStringConvertible {
    /// What is held of a bucket.
    private struct Bucket {
        var last: OperationID = 0
        /// Nil for a bucket whose beginning was received by an earlier stream.
        var sum: Checksum? = .zero
        /// The key of a row, its bucket and subkey in it, is held once.
        var rows: Set<RowKey> = []
    }

    private struct RowKey: Hashable {
        let name: String
        let subkey: String
    }

    private(set) var listed: [String: BucketChecksum] = [:]
    private(set) var lastOpID: OperationID = 0
    private(set) var writeCheckpoint: Int64?
    private(set) var isComplete = false
    /// Rules of the protocol that were broken.
    private(set) var broken: [String] = []
    private var buckets: [String: Bucket] = [:]
    /// For `type/id` the operations that show it now, by bucket and subkey.
    private var objects: [String: [[String]: Operation]] = [:]

    /// A client that begins with nothing, or goes on from where another stream has left it.
    init(positions: [BucketRequest] = []) {
        for position in positions where position.after > 0 {
            buckets[position.name] = Bucket(last: position.after, sum: nil)
        }
    }

    mutating func take(_ line: SyncLine) {
        switch line {
        case .checkpoint(let checkpoint):
            listed = Dictionary(uniqueKeysWithValues: checkpoint.buckets.map { ($0.bucket, $0) })
            for name in buckets.keys where listed[name] == nil { remove(name) }
            begin(checkpoint.lastOpID, checkpoint.writeCheckpoint)
        case .checkpointDiff(let diff):
            for name in diff.removedBuckets {
                listed[name] = nil
                remove(name)
            }
            for bucket in diff.updatedBuckets { listed[bucket.bucket] = bucket }
            begin(diff.lastOpID, diff.writeCheckpoint)
        case .data(let data): take(data)
        case .partialCheckpointComplete(let id, let priority):
            complete(id) { ($0.priority ?? 3) <= priority }
        case .checkpointComplete(let id):
            complete(id) { _ in true }
            isComplete = true
        case .tokenExpiresIn, .unknown: break
        }
    }

    private mutating func begin(_ id: OperationID, _ writeCheckpoint: Int64?) {
        lastOpID = id
        self.writeCheckpoint = writeCheckpoint
        isComplete = false
    }

    private mutating func take(_ data: DataLine) {
        if listed[data.bucket] == nil { broken.append("data of an unlisted bucket \(data.bucket)") }
        var bucket = buckets.removeValue(forKey: data.bucket) ?? Bucket()
        if data.after != bucket.last { broken.append("positions of \(data.bucket) do not chain") }
        for operation in data.operations {
            if operation.id > lastOpID { broken.append("operation \(operation.id) is beyond the checkpoint") }
            bucket.last = operation.id
            if operation.kind == .clear {
                for key in bucket.rows { hide(key, of: data.bucket) }
                bucket = Bucket(last: operation.id, sum: operation.checksum)
                continue
            }
            bucket.sum = bucket.sum.map { $0 + operation.checksum }
            let key = RowKey(
                name: "\(operation.objectType ?? "")/\(operation.objectID ?? "")",
                subkey: operation.subkey ?? "")
            if operation.kind == .put {
                bucket.rows.insert(key)
                objects[key.name, default: [:]][[data.bucket, key.subkey]] = operation
            } else if bucket.rows.remove(key) != nil {
                hide(key, of: data.bucket)
            }
        }
        buckets[data.bucket] = bucket
    }

    private mutating func remove(_ name: String) {
        for key in buckets.removeValue(forKey: name)?.rows ?? [] { hide(key, of: name) }
    }

    private mutating func hide(_ key: RowKey, of bucket: String) {
        objects[key.name]?[[bucket, key.subkey]] = nil
        if objects[key.name]?.isEmpty == true { objects[key.name] = nil }
    }

    private mutating func complete(_ id: OperationID?, _ isMeant: (BucketChecksum) -> Bool) {
        if let id, id != lastOpID { broken.append("another checkpoint is completed: \(id)") }
        for bucket in listed.values where isMeant(bucket) {
            guard let sum = (buckets[bucket.bucket] ?? Bucket()).sum else { continue }
            if sum != bucket.checksum { broken.append("the checksum of \(bucket.bucket) does not fit") }
        }
    }

    /// How many rows there are.
    var rowCount: Int { objects.count }

    /// The names of the rows as `type/id`, ascending.
    var rowNames: [String] { objects.keys.sorted() }

    /// How many operations show a row that is named `type/id`.
    func copies(of row: String) -> Int { objects[row]?.count ?? 0 }

    /// The data of a row that is named `type/id`.
    func data(of row: String) -> String? {
        objects[row]?.values.max { $0.id < $1.id }?.data
    }

    /// The last operation of each bucket.
    var positions: [BucketRequest] {
        buckets.sorted { $0.key < $1.key }.map { BucketRequest(name: $0.key, after: $0.value.last) }
    }

    var description: String {
        let rows = rowCount > 20 ? "\(rowCount) rows" : "\(rowNames)"
        return "operation \(lastOpID), write checkpoint \(writeCheckpoint.map(String.init) ?? "none"), "
            + "\(isComplete ? "complete" : "incomplete"): \(rows)\(broken.isEmpty ? "" : ", broken: \(broken)")"
    }
}
