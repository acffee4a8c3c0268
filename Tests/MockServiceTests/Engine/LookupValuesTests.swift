import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// LANGUAGE.md, 6: keys and values of lookups as bytes.
@Suite(.namesSeed)
struct LookupValuesTests {
    /// The bytes of a key; nil if a row with these values is not found.
    private static func key(_ values: SQLiteValue...) -> [UInt8]? {
        var arena = Array("before".utf8)
        let slots = values.map { Slot($0, in: &arena) }
        var bytes: [UInt8] = [7]
        let isKey = LookupValues.appendKey(slots, in: arena, to: &bytes)
        #expect(bytes.first == 7 && (isKey || bytes.count == 1))
        return isKey ? Array(bytes.dropFirst()) : nil
    }

    /// The bytes of a value.
    private static func packed(_ rows: [[SQLiteValue]]) -> [UInt8] {
        var arena = Array("before".utf8)
        let slots = rows.map { row in row.map { Slot($0, in: &arena) } }
        var bytes: [UInt8] = []
        LookupValues.append(rows: slots, in: arena, to: &bytes)
        return bytes
    }

    private static func values(_ rows: LookupRows) -> [[SQLiteValue]] {
        rows.rows.map { row in row.map { $0.value(in: rows.arena) } }
    }

    private static func read(_ bytes: [UInt8], width: Int) throws -> [[SQLiteValue]] {
        var rows = LookupRows()
        let areAll = try bytes.withUnsafeBytes { try rows.append($0, width: width, most: 1000) }
        #expect(areAll)
        return values(rows)
    }

    // MARK: Keys

    @Test func integersHaveTheirShortestBytes() {
        #expect(Self.key(0) == [0x10])
        #expect(Self.key(7) == [0x11, 7])
        #expect(Self.key(-1) == [0x0F, 0xFE])
        #expect(Self.key(256) == [0x12, 1, 0])
        #expect(Self.key(.integer(.min)) == [0x08, 0x7F] + [UInt8](repeating: 0xFF, count: 7))
    }

    @Test func textsEndWithTwoZeros() {
        #expect(Self.key("") == [0x30, 0, 0])
        #expect(Self.key("é") == [0x30, 0xC3, 0xA9, 0, 0])
        #expect(Self.key("a\u{0}") == [0x30, 0x61, 0, 0xFF, 0, 0])
        #expect(Self.key("a", 0) == [0x30, 0x61, 0, 0, 0x10])
    }

    @Test func realsThatAreNoIntegersHaveEightBytes() {
        #expect(Self.key(1.5) == [0x20, 0xBF, 0xF8, 0, 0, 0, 0, 0, 0])
        #expect(Self.key(-1.5) == [0x20, 0x40, 0x07] + [UInt8](repeating: 0xFF, count: 6))
        #expect(Self.key(.real(.infinity)) == [0x20, 0xFF, 0xF0, 0, 0, 0, 0, 0, 0])
    }

    /// Values that a request finds each other by (service 6.9).
    @Test func aRealThatIsAnIntegerHasItsKey() {
        #expect(Self.key(.real(7)) == Self.key(7))
        #expect(Self.key(.real(-0.0)) == Self.key(0))
        #expect(Self.key(.real(-0x1p63)) == Self.key(.integer(.min)))
        #expect(Self.key("7") != Self.key(7))
    }

    @Test func aKeyWithoutValuesHasNoBytes() { #expect(Self.key() == []) }

    @Test func nothingIsFoundByNullABlobOrWhatIsNoNumber() {
        for value in [SQLiteValue.null, .blob([]), .blob([0x30, 0x61, 0, 0]), .real(.nan)] {
            #expect(Self.key(value) == nil)
            #expect(Self.key("a", value) == nil)
            #expect(Self.key(value, 1) == nil)
        }
    }

    private static func key(wide digits: String) throws -> [UInt8] {
        var arena = Array("before".utf8)
        let slot = Slot(scalar: try #require(ScalarValue(digits: digits)), in: &arena)
        var bytes: [UInt8] = []
        #expect(slot.kind == .wide && LookupValues.appendKey([slot], in: arena, to: &bytes))
        return bytes
    }

    @Test func integersBeyond64BitsHaveTheirDigits() throws {
        let digits = "9223372036854775809"
        #expect(try Self.key(wide: digits) == [0x1F] + Array(digits.utf8) + [0])
        #expect(try Self.key(wide: "-" + digits) == [0x1F] + Array("-\(digits)".utf8) + [0])
        // The text is another key, and the nearest double, too.
        #expect(try Self.key(.text(digits)) != Self.key(wide: digits))
        #expect(try Self.key(.real(0x1p63)) != Self.key(wide: digits))
        #expect(try Self.key(.real(0x1p63)) == Self.key(wide: "9223372036854775808"))
        #expect(try Self.key(.real(-0x1p64)) == Self.key(wide: "-18446744073709551616"))
    }

    private static func value(_ random: inout SeededRandom) -> SQLiteValue {
        switch random.below(4) {
        case 0: .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
        case 1: .real(Double(random.below(9) - 4) / 2)
        case 2: .real(Double(bitPattern: random.next()))
        default: .text(SampleOperation.text(&random, upTo: 4))
        }
    }

    /// What a value equals as a part of a key.
    private static func normal(_ value: SQLiteValue) -> SQLiteValue {
        guard case .real(let real) = value, let integer = Int64(exactly: real) else { return value }
        return .integer(integer)
    }

    @Test func keysHaveTheSameBytesIfTheirValuesAreEqual() async throws {
        try await forEachSeed(20) { random in
            var known: [[UInt8]: [SQLiteValue]] = [:]
            for _ in 0..<200 {
                let values = (0..<random.below(4)).map { _ in Self.value(&random) }
                var arena: [UInt8] = []
                let slots = values.map { Slot($0, in: &arena) }
                var bytes: [UInt8] = []
                guard LookupValues.appendKey(slots, in: arena, to: &bytes) else { continue }
                let normal = values.map(Self.normal)
                #expect(known[bytes, default: normal] == normal)
                known[bytes] = normal
            }
            #expect(Set(known.values).count == known.count)
        }
    }

    /// SQLite compares blobs byte by byte.
    @Test func keysOfOneKindAreOrderedAsTheirValues() async throws {
        func isOrdered(_ left: SQLiteValue, _ right: SQLiteValue) throws -> Bool {
            let (one, other) = (try #require(Self.key(left)), try #require(Self.key(right)))
            return one.lexicographicallyPrecedes(other)
        }
        try await forEachSeed(100) { random in
            let (one, other) = (Int64(bitPattern: random.next()), Int64(random.below(1000)) - 500)
            let isLess = try isOrdered(.integer(one), .integer(other))
            #expect(isLess == (one < other))
            let halves = (Double(random.below(100)) - 49.5, Double(random.below(100)) - 49.5)
            let isHalfLess = try isOrdered(.real(halves.0), .real(halves.1))
            #expect(isHalfLess == (halves.0 < halves.1))
            let texts = (SampleOperation.text(&random, upTo: 3), SampleOperation.text(&random, upTo: 3))
            let isBefore = texts.0.utf8.lexicographicallyPrecedes(texts.1.utf8)
            let isTextLess = try isOrdered(.text(texts.0), .text(texts.1))
            #expect(isTextLess == isBefore)
        }
    }

    // MARK: Values

    @Test func outputsFollowTheNumberOfRows() throws {
        #expect(Self.packed([[]]) == [2])
        #expect(Self.packed([[], []]) == [3])
        #expect(Self.packed([[nil, 0, -1, 1, -2]]) == [2, 0, 1, 0, 1, 1, 1, 2, 1, 3])
        #expect(Self.packed([["é"], [.blob([9])]]) == [3, 3, 2, 0xC3, 0xA9, 4, 1, 9])
        #expect(Self.packed([[1.5]]) == [2, 2, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F])
        #expect(try Self.read([3], width: 0) == [[], []])
    }

    @Test func integersBeyond64BitsAreRead() throws {
        let values = try ["9223372036854775808", "-123456789012345678901234567890"].map { digits in
            try #require(ScalarValue(digits: digits))
        }
        var arena: [UInt8] = []
        let slots = values.map { Slot(scalar: $0, in: &arena) }
        var bytes: [UInt8] = []
        LookupValues.append(rows: [slots], in: arena, to: &bytes)
        #expect(bytes.prefix(3) == [2, 5, 19])
        var rows = LookupRows()
        let areAll = try bytes.withUnsafeBytes { try rows.append($0, width: 2, most: 1) }
        #expect(areAll && rows.rows[0].map { $0.scalar(in: rows.arena) } == values)
        // What is no such integer.
        for wrong in ["7", "x", "", "9223372036854775807"] {
            let stored: [UInt8] = [2, 5, UInt8(wrong.utf8.count)] + Array(wrong.utf8)
            #expect(throws: StoreError.self) {
                var rows = LookupRows()
                _ = try stored.withUnsafeBytes { try rows.append($0, width: 1, most: 1) }
            }
        }
    }

    private static func rows(_ random: inout SeededRandom) -> (width: Int, rows: [[SQLiteValue]]) {
        let width = random.below(4)
        let rows = (0...random.below(4)).map { _ in
            (0..<width).map { _ -> SQLiteValue in
                switch random.below(6) {
                case 0: .null
                case 1: .blob((0..<random.below(9)).map { UInt8($0) })
                default: value(&random)
                }
            }
        }
        return (width, rows)
    }

    /// NaN equals nothing.
    private static func comparable(_ rows: [[SQLiteValue]]) -> [[SQLiteValue]] {
        rows.map { row in
            row.map { value in
                guard case .real(let real) = value else { return value }
                return .blob(withUnsafeBytes(of: real.bitPattern) { Array($0) })
            }
        }
    }

    @Test func rowsReadBackOneValueBehindTheOther() async throws {
        try await forEachSeed(200) { random in
            let (width, first) = Self.rows(&random)
            let bytes = Self.packed(first)
            #expect(Self.comparable(try Self.read(bytes, width: width)) == Self.comparable(first))
            var rows = LookupRows()
            for _ in 0..<2 {
                _ = try bytes.withUnsafeBytes { try rows.append($0, width: width, most: 9) }
            }
            #expect(Self.comparable(Self.values(rows)) == Self.comparable(first + first))
        }
    }

    @Test func noMoreRowsAreReadThanAreWanted() throws {
        let all: [[SQLiteValue]] = [[1], [2], [3]]
        let bytes = Self.packed(all)
        for most in 0...4 {
            var rows = LookupRows()
            let areAll = try bytes.withUnsafeBytes { try rows.append($0, width: 1, most: most) }
            #expect(areAll == (most >= 3))
            #expect(Self.values(rows) == Array(all.prefix(most)))
        }
        // However many a damaged file says there are.
        var rows = LookupRows()
        let many: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]
        let areAll = try many.withUnsafeBytes { try rows.append($0, width: 0, most: 5) }
        #expect(!areAll && rows.rows.count == 5)
    }

    private static let noValues: [[UInt8]] = [
        // Nothing; no row; fewer rows than it says; bytes behind the last one.
        [], [0], [1], [3, 0], [2, 0, 0],
        // An unknown tag; outputs that end early; a number with a shorter spelling.
        [2, 6], [2, 1], [2, 2, 0, 0], [2, 3, 2, 0x61], [2, 1, 0x81, 0],
    ]

    @Test(arguments: noValues.indices) func refusesWhatIsNoValue(_ index: Int) {
        #expect(throws: StoreError.self) {
            var rows = LookupRows()
            _ = try Self.noValues[index].withUnsafeBytes { try rows.append($0, width: 1, most: 9) }
        }
    }

    @Test func damagedBytesAreNoTrap() async throws {
        try await forEachSeed(300) { random in
            let (width, made) = Self.rows(&random)
            var bytes = Self.packed(made)
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            if random.once(in: 3) { bytes.removeLast() }
            do {
                var rows = LookupRows()
                _ = try bytes.withUnsafeBytes { try rows.append($0, width: width, most: 100) }
                _ = Self.values(rows)
            } catch is StoreError {
                // Refused, without a trap.
            }
        }
    }
}
