import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// DESIGN.md, 1: row keys.
@Suite(.namesSeed)
struct RowKeyTests {
    private static let replicaID = ReplicaID(bytes: [UInt8](16..<32))

    private static func key(_ values: [SQLiteValue]) -> RowKey { RowKey(values, of: replicaID) }

    private static let vectors: [([SQLiteValue], [UInt8])] = [
        ([nil], [0x05]),
        ([0], [0x10]), ([1], [0x11, 0x01]), ([255], [0x11, 0xFF]), ([256], [0x12, 0x01, 0x00]),
        ([65_536], [0x13, 0x01, 0x00, 0x00]),
        ([.integer(.max)], [0x18, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        ([-1], [0x0F, 0xFE]), ([-255], [0x0F, 0x00]), ([-256], [0x0E, 0xFE, 0xFF]),
        ([.integer(.min)], [0x08, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        ([""], [0x30]), (["aé"], [0x30, 0x61, 0xC3, 0xA9]),
        // A text ends where another column follows.
        (["o1", 7], [0x30, 0x6F, 0x31, 0x00, 0x11, 0x07]), ([7, "o1"], [0x11, 0x07, 0x30, 0x6F, 0x31]),
        (["", ""], [0x30, 0x00, 0x30]), ([nil, "a", nil], [0x05, 0x30, 0x61, 0x00, 0x05]),
    ]

    @Test(arguments: vectors.indices) func valuesHaveTheirBytes(_ index: Int) throws {
        let (values, expected) = Self.vectors[index]
        let key = Self.key(values)
        #expect(key.bytes == expected)
        #expect(try key.values() == values)
    }

    private static let others: [[SQLiteValue]] = [
        // No identity; kinds that have no order here; a text that would end too early.
        [], [.real(1)], [.real(1.5)], [.blob([1])], [1, .real(2)], ["a", .blob([])], ["a\u{0}"],
        ["a\u{0}", 1],
        // 65 bytes.
        [.text(String(repeating: "x", count: 64))],
        [.text(String(repeating: "x", count: 61)), 1, nil],
        [.text(String(repeating: "x", count: 20_000_000))],
    ]

    @Test(arguments: others.indices) func otherRowsAreFoundByTheReplicaID(_ index: Int) throws {
        let key = Self.key(Self.others[index])
        #expect(key.bytes == [0xF0] + [UInt8](16..<32))
        #expect(try key.values() == nil)
        #expect(try key.replicaID(names: ["a", "b"]) == Self.replicaID)
        #expect(try key.onlyText() == nil)
    }

    @Test func aKeyOfSixtyFourBytesHoldsItsValues() throws {
        let text = String(repeating: "x", count: 63)
        #expect(Self.key([.text(text)]).bytes.count == 64)
        #expect(try Self.key([.text(text)]).values() == [.text(text)])
        let short = String(repeating: "x", count: 60)
        #expect(Self.key([.text(short), 1]).bytes.count == 64)
        #expect(try Self.key([.text(short), 1]).values() == [.text(short), 1])
    }

    private static func value(_ random: inout SeededRandom) -> SQLiteValue {
        switch random.below(6) {
        case 0: return nil
        case 1, 2:
            let bits = Int64(bitPattern: random.next() >> UInt64(random.below(64)))
            return .integer(random.once(in: 2) ? bits : 0 &- bits)
        case 3: return .integer(random.pick([0, 1, -1, 255, 256, -255, -256, .max, .min]))
        default:
            let texts = ["", "a", "b", "aa", "\u{1}", "é", "e\u{301}", "\u{7F}", "😀", "\u{FFFD}"]
            return .text(random.pick(texts) + random.pick(texts))
        }
    }

    /// Keys are compared as values are: NULL, integers, texts by their bytes.
    private static func precedes(_ left: [SQLiteValue], _ right: [SQLiteValue]) -> Bool {
        for (left, right) in zip(left, right) where left != right {
            switch (left, right) {
            case (.integer(let left), .integer(let right)): return left < right
            case (.text(let left), .text(let right)): return ExactText(left) < ExactText(right)
            case (.null, _), (.integer, .text): return true
            default: return false
            }
        }
        return false
    }

    @Test func keysAreOrderedAsValues() async throws {
        try await forEachSeed(40) { random in
            let columns = 1 + random.below(3)
            var rows: [[SQLiteValue]] = []
            for _ in 0..<40 { rows.append((0..<columns).map { _ in Self.value(&random) }) }
            for left in rows {
                for right in rows {
                    #expect(
                        (Self.key(left) < Self.key(right)) == Self.precedes(left, right),
                        "\(left) and \(right)")
                    // No two rows have one key.
                    #expect((Self.key(left) == Self.key(right)) == (left == right), "\(left) and \(right)")
                }
            }
        }
    }

    @Test func sqliteHasTheSameOrder() async throws {
        try await forEachSeed(5) { random in
            let connection = try SQLiteConnection(path: ":memory:")
            defer { connection.close() }
            try connection.execute("CREATE TABLE t(key BLOB PRIMARY KEY) STRICT, WITHOUT ROWID")
            var keys: Set<RowKey> = []
            for _ in 0..<300 { keys.insert(Self.key([Self.value(&random), Self.value(&random)])) }
            for key in keys { try connection.run("INSERT INTO t VALUES (?)", [.blob(key.bytes)]) }
            let ordered = try connection.query("SELECT key FROM t ORDER BY key") { row in
                try RowKey(stored: row.blob(0))
            }
            #expect(ordered == keys.sorted())
        }
    }

    @Test func valuesAndReplicaIDsReadBack() async throws {
        try await forEachSeed(200) { random in
            let values = (0..<1 + random.below(4)).map { _ in Self.value(&random) }
            let names = values.indices.map { "c\($0)" }
            let id = ReplicaID(columns: zip(names, values).map { (name: $0, value: $1) })
            let key = try RowKey(stored: RowKey(values, of: id).bytes)
            #expect(try key.replicaID(names: names) == id)
            let found = try key.values()
            #expect(found == values || (found == nil && key.bytes.first == 0xF0))
        }
    }

    @Test func theOnlyColumnIsTheUsualId() throws {
        #expect(try Self.key(["a"]).onlyText() == ExactText("a"))
        #expect(try Self.key([-42]).onlyText() == ExactText("-42"))
        #expect(try Self.key([nil]).onlyText() == nil)
        #expect(try Self.key(["a", "b"]).onlyText() == nil)
    }

    @Test func refusesNamesOfAnotherIdentity() throws {
        #expect(throws: StoreError.self) { try Self.key(["a"]).replicaID(names: ["a", "b"]) }
        #expect(throws: StoreError.self) { try Self.key(["a", "b"]).replicaID(names: ["a"]) }
    }

    private static let noKeys: [[UInt8]] = [
        // Tags that there are none of.
        [0x00], [0x04], [0x07], [0x19], [0x31], [0xFF], [0x05, 0x00],
        // An integer that ends early, has a shorter key, is beyond 64 bits.
        [0x11], [0x12, 0x01], [0x0F], [0x11, 0x00], [0x12, 0x00, 0x01], [0x0F, 0xFF], [0x0E, 0xFF, 0x00],
        [0x18, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x08, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE],
        // A text with an end and nothing behind it, and one that is not UTF-8.
        [0x30, 0x61, 0x00], [0x30, 0xC3], [0x30, 0xC3, 0x00, 0x05],
        // A replica id of other lengths, and behind a value.
        [0xF0], [0xF0, 1, 2, 3], [UInt8](repeating: 0xF0, count: 18), [0x05, 0xF0, 1, 2],
    ]

    @Test(arguments: noKeys.indices) func refusesWhatIsNoKey(_ index: Int) throws {
        let key = try RowKey(stored: Self.noKeys[index])
        #expect(throws: StoreError.self) { try key.values() }
        #expect(throws: StoreError.self) { try key.replicaID(names: ["a"]) }
        #expect(throws: StoreError.self) { try key.onlyText() }
    }

    @Test func refusesNoBytes() {
        #expect(throws: StoreError.self) { try RowKey(stored: nil) }
        #expect(throws: StoreError.self) { try RowKey(stored: []) }
    }

    /// What can be read is the key of what was read, so a row is never found under another key.
    @Test func damagedBytesAreRefusedOrAKey() async throws {
        try await forEachSeed(300) { random in
            var bytes = Self.key([Self.value(&random), Self.value(&random)]).bytes
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            if random.once(in: 3) { bytes.removeLast() }
            do {
                let values = try RowKey(stored: bytes).values()
                if let values { #expect(Self.key(values).bytes == bytes) }
            } catch is StoreError {
                // Refused, without a trap.
            }
        }
    }
}
