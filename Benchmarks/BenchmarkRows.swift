import PowerSync
import PowerSyncWire

/// Rows as the service sends them: random ids, eight columns, 290 to 310 bytes of JSON, one bucket.
///
/// All texts lie in one buffer, so that the bare loop can bind them without copying.
struct BenchmarkRows {
    /// The name of the one bucket.
    static let bucket = "1#all|0[]"
    /// The columns of the one table, besides its id.
    static let columns: [Column] = [
        .text("owner_id"), .text("description"), .integer("position"), .integer("completed"),
        .real("weight"), .text("created_at"), .text("note"),
    ]
    /// The one table.
    static let table = Table(name: "todos", columns: columns)
    /// How many operations a data line holds.
    static let lineLength = 1000

    /// The texts of all rows.
    private(set) var bytes: [UInt8] = []
    /// Where the key of each row lies: `todos/<id>/<24 hex>/<id>`.
    private(set) var keys: [Range<Int>] = []
    /// Where the JSON of each row lies.
    private(set) var data: [Range<Int>] = []

    /// The number of rows.
    var count: Int { keys.count }

    init(count: Int) {
        var random = SplitMix(seed: 42)
        bytes.reserveCapacity(count * 410)
        keys.reserveCapacity(count)
        data.reserveCapacity(count)
        for number in 0..<count {
            let id = random.uuid()
            let subkey = random.hexadecimal() + random.hexadecimal().prefix(8)
            keys.append(append("todos/\(id)/\(subkey)/\(id)"))
            data.append(append(Self.json(id, number, &random)))
            precondition((290...310).contains(data[number].count), "a row has \(data[number].count) bytes")
        }
    }

    private mutating func append(_ text: String) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        return start..<bytes.count
    }

    /// Returns the JSON of a row; `number` makes neighbours differ.
    static func json(_ id: String, _ number: Int, _ random: inout SplitMix) -> String {
        let owner = random.uuid()
        let text = random.hexadecimal() + random.hexadecimal() + random.hexadecimal()
        return "{\"id\":\"\(id)\",\"owner_id\":\"\(owner)\",\"description\":\"\(text)\","
            + "\"position\":\(1000 + number % 1000),\"completed\":0,\"weight\":\(10 + number % 89).5,"
            + "\"created_at\":\"2026-01-02T03:04:05.678901Z\",\"note\":\"row \(10_000_000 + number) of many rows that look alike\"}"
    }

    /// Where the id of a row lies, within its key.
    func id(_ row: Int) -> Range<Int> {
        let start = keys[row].lowerBound + "todos/".utf8.count
        return start..<start + 36
    }

    /// The rows in the order of their ids.
    var inOrderOfIDs: [Int] {
        keys.indices.sorted { bytes[id($0)].lexicographicallyPrecedes(bytes[id($1)]) }
    }

    /// Returns a text of the buffer.
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Returns the operation that brings a row; its number is one above the row's.
    func operation(_ row: Int) -> Operation {
        let subkey = keys[row].lowerBound + "todos//".utf8.count + 36..<keys[row].upperBound
        return Operation(
            id: Int64(row + 1), kind: .put, objectType: "todos", objectID: text(id(row)),
            subkey: text(subkey), checksum: Checksum(UInt32(row)), data: text(data[row]))
    }

    /// Gives the lines of a first sync to `body`, one after the other: checkpoint, data, complete.
    func forEachLine(_ body: ([UInt8]) throws -> Void) rethrows {
        let whole = BucketChecksum(
            bucket: Self.bucket, checksum: checksum, priority: 3, count: Int64(count))
        try body(SyncLine.checkpoint(Checkpoint(lastOpID: Int64(count), buckets: [whole])).encoded())
        for start in stride(from: 0, to: count, by: Self.lineLength) {
            let end = min(start + Self.lineLength, count)
            let line = DataLine(
                bucket: Self.bucket, after: Int64(start), hasMore: end < count,
                operations: OperationList((start..<end).lazy.map(operation)))
            try body(SyncLine.data(line).encoded())
        }
        try body(SyncLine.checkpointComplete(lastOpID: Int64(count)).encoded())
    }

    /// The sum over the checksums of all operations.
    var checksum: Checksum {
        (0..<count).reduce(into: .zero) { sum, row in sum += Checksum(UInt32(row)) }
    }
}
