import PowerSync
import PowerSyncWire

/// Rows to write, with the entries that the upload queue gets for them, in one buffer.
struct WriteRows {
    /// What the rows are called in the table of results.
    let name: String
    let table: String
    let columns: [Column]
    private(set) var bytes: [UInt8] = []
    private var ids: [Range<Int>] = []
    /// The values of all rows, one after the other.
    private var values: [Value] = []
    /// The new values of the first column.
    private var updates: [Range<Int>] = []
    /// The queue's entries for inserts, updates and deletes.
    private(set) var entries: [[Range<Int>]] = [[], [], []]

    private enum Value {
        case text(Range<Int>)
        case integer(Int64)
        case real(Double)
    }

    /// The number of rows.
    var count: Int { ids.count }

    /// Ten text columns.
    static func texts(_ count: Int) -> WriteRows {
        let columns = (0..<10).map { Column.text("column\($0)") }
        return WriteRows(name: "10 texts", table: "notes", columns: columns, count: count) { _, random in
            columns.map { _ in .string(random.hexadecimal()) }
        }
    }

    /// The rows of the other benchmarks.
    static func todos(_ count: Int) -> WriteRows {
        WriteRows(
            name: "8 columns", table: "todos", columns: BenchmarkRows.columns, count: count
        ) { number, random in
            [
                .string(random.uuid()),
                .string(random.hexadecimal() + random.hexadecimal() + random.hexadecimal()),
                .integer(1000 + number % 1000), .integer(0), .number("\(10 + number % 89).5"),
                .string("2026-01-02T03:04:05.678901Z"),
                .string("row \(10_000_000 + number) of many rows that look alike"),
            ]
        }
    }

    private init(
        name: String, table: String, columns: [Column], count: Int,
        row: (Int, inout SplitMix) -> [JSON]
    ) {
        self.name = name
        self.table = table
        self.columns = columns
        var random = SplitMix(seed: 11)
        for number in 0..<count {
            let id = random.uuid()
            ids.append(append(id))
            let json = row(number, &random)
            for value in json { values.append(self.value(value)) }
            let update = random.uuid()
            updates.append(append(update))
            let data = zip(columns, json).map { JSONMember($0.name, $1) }.sorted { $0.name < $1.name }
            let head = "\"id\":\"\(id)\",\"type\":\"\(table)\""
            entries[0].append(append("{\"op\":\"PUT\",\(head),\"data\":\(JSON.object(data).text)}"))
            let change = "{\"\(columns[0].name)\":\"\(update)\"}"
            entries[1].append(append("{\"op\":\"PATCH\",\(head),\"data\":\(change)}"))
            entries[2].append(append("{\"op\":\"DELETE\",\(head)}"))
        }
    }

    private mutating func append(_ text: String) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        return start..<bytes.count
    }

    private mutating func value(_ json: JSON) -> Value {
        if let integer = json.int64Value { return .integer(integer) }
        if case .number(let lexeme) = json { return .real(Double(lexeme) ?? 0) }
        return .text(append(json.stringValue ?? ""))
    }

    /// Insert, update and delete; the same text fits a table and a view.
    var statements: [String] {
        let names = columns.map { "\"\($0.name)\"" }
        let values = names.map { _ in "?" }.joined(separator: ", ")
        return [
            "INSERT INTO \"\(table)\"(id, \(names.joined(separator: ", "))) VALUES (?, \(values))",
            "UPDATE \"\(table)\" SET \(names[0]) = ? WHERE id = ?", "DELETE FROM \"\(table)\" WHERE id = ?",
        ]
    }

    /// Binds a row to one of ``statements``.
    func bind(
        _ row: Int, _ statement: Int, to prepared: BareStatement, _ bytes: UnsafeBufferPointer<UInt8>
    ) {
        switch statement {
        case 0:
            prepared.bind(1, bytes, ids[row])
            for column in columns.indices {
                let index = Int32(column + 2)
                switch values[row * columns.count + column] {
                case .text(let range): prepared.bind(index, bytes, range)
                case .integer(let integer): prepared.bind(index, integer)
                case .real(let double): prepared.bind(index, double)
                }
            }
        case 1:
            prepared.bind(1, bytes, updates[row])
            prepared.bind(2, bytes, ids[row])
        default: prepared.bind(1, bytes, ids[row])
        }
    }
}
