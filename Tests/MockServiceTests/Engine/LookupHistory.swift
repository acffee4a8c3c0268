import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire

/// Writes to the lookups of a file, and knows what keys find at its checkpoint, and behind all that was written.
struct LookupHistory {
    /// What keys find: for each definition and key the numbers of its rows, by source row.
    typealias Found = [[UInt8]: [Int64]]

    /// A source row under a key.
    struct Place: Hashable {
        var definition: Int64 = 1
        /// Any number, which is the only value of the key.
        var key: Int64 = 0
        var row = "a"
    }

    private struct State {
        /// The number that is found of each place that has an entry.
        var numbers: [Place: Int64] = [:]

        /// What keys find of it.
        func found(of definition: Int64) -> Found {
            var found: [[UInt8]: [(row: String, number: Int64)]] = [:]
            for (place, number) in numbers where place.definition == definition {
                found[LookupHistory.key(place.key), default: []].append((place.row, number))
            }
            return found.mapValues { rows in rows.sorted { $0.row < $1.row }.map(\.number) }
        }
    }

    private var newest = State()
    private var visible = State()
    /// How many versions were stored.
    private(set) var written = 0

    /// The names of the definitions, which have the ids 1 and 2.
    static let names = ["lookup|0", "lookup|1"].map { ExactText($0) }

    /// Makes the definitions of a file that has none.
    init(_ file: StoreFile) throws {
        let versions = LookupVersions(file.connection)
        for name in Self.names { _ = try versions.definition(named: name, of: StoreFile.stream) }
    }

    /// The bytes of the key of one number.
    static func key(_ number: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = LookupValues.appendKey([Slot(integer: number)], in: [], to: &bytes)
        return bytes
    }

    /// The bytes of a row of one number.
    static func value(_ number: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        LookupValues.append(rows: [[Slot(integer: number)]], in: [], to: &bytes)
        return bytes
    }

    /// What a file keeps of a row.
    static func rowKey(_ row: String) -> RowKey {
        RowKey([.text(row)], of: ReplicaID(bytes: [UInt8](0..<16)))
    }

    /// Writes in one transaction.
    ///
    /// - Parameters:
    ///   - writes: Places and the numbers that are found of them from now on; nil for nothing.
    ///   - count: How many of them a commit covers that becomes visible; nil if none does.
    ///   - file: The file.
    /// - Returns: For each whether it was written.
    /// - Throws: `SQLiteError`.
    @discardableResult
    mutating func write(
        _ writes: [(place: Place, number: Int64?)], visible count: Int? = nil, to file: StoreFile
    ) throws -> [Bool] {
        try file.connection.transaction {
            func number(_ sql: String) throws -> Int64 { try file.connection.one(sql) { $0.int64(0) } ?? 0 }
            var last = try number("SELECT last_op FROM counter")
            var checkpoint = try number("SELECT checkpoint_op FROM replication_stream WHERE id = 1")
            let versions = LookupVersions(file.connection)
            var written: [Bool] = []
            for (index, write) in writes.enumerated() {
                if let count, index == count {
                    checkpoint = last
                    visible = newest
                }
                let key = Self.key(write.place.key)
                let value = write.number.map(Self.value) ?? []
                let place = LookupVersions.Place(
                    definition: write.place.definition, key: 0..<key.count, sourceTable: 1,
                    row: Self.rowKey(write.place.row))
                let isWritten = try versions.write(
                    key.count..<key.count + value.count, at: place, in: key + value, checkpoint: checkpoint,
                    id: {
                        last += 1
                        return last
                    })
                newest.numbers[write.place] = write.number
                written.append(isWritten)
            }
            if let count, count >= writes.count {
                checkpoint = last
                visible = newest
            }
            self.written += written.count { $0 }
            try file.connection.run("UPDATE counter SET last_op = ?", [.integer(last)])
            try file.connection.run(
                "UPDATE replication_stream SET last_op = ?, checkpoint_op = ? WHERE id = 1",
                [.integer(last), .integer(checkpoint)])
            return written
        }
    }

    /// Writes at random: to few places, so that most are written to again and again.
    mutating func writeSome(_ random: inout SeededRandom, to file: StoreFile) throws {
        let writes = (0..<random.below(8)).map { _ in
            let place = Place(
                definition: 1 + Int64(random.below(2)), key: Int64(random.below(3)),
                row: random.pick(["a", "b", "c"]))
            return (place: place, number: random.once(in: 3) ? nil : Int64(random.below(3)))
        }
        let count = random.once(in: 3) ? nil : random.below(writes.count + 1)
        try write(writes, visible: count, to: file)
    }

    /// What keys of a definition must find at the checkpoint.
    func expected(of definition: Int64) -> Found { visible.found(of: definition) }

    /// What they must find at the next one.
    func coming(of definition: Int64) -> Found { newest.found(of: definition) }

    /// The keys that places have.
    static let keys = (Int64(0)..<3).map { key($0) }

    /// What keys of a definition find at the checkpoint, as a stream reads it.
    static func found(of definition: Int64, _ connection: SQLiteConnection) throws -> Found {
        try StoreSnapshot.read(of: StoreFile.stream, connection) { snapshot in
            try found(of: definition, snapshot)
        }
    }

    /// The same within a snapshot.
    static func found(of definition: Int64, _ snapshot: StoreSnapshot) throws -> Found {
        var room = LookupRoom(rows: 1000)
        let rows = try snapshot.rows(of: definition, keys: keys, width: 1, &room)
        return rows.mapValues { rows in rows.rows.map { $0[0].integer } }
    }

    /// `definition key row op value` of all versions, as the file has them.
    static func versions(_ connection: SQLiteConnection) throws -> [String] {
        try connection.query(
            "SELECT definition, hex(key), hex(row), op_id, hex(value) FROM lookup "
                + "ORDER BY definition, key, source_table, row, op_id"
        ) { row in (0..<5).map { row.string($0) }.joined(separator: " ") }
    }
}
