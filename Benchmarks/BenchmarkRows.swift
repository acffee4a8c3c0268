/// Rows as the service sends them, the same at every run: seeded ids, eight columns, about 300 bytes of JSON.
struct BenchmarkRows {
    /// One row.
    struct Row {
        let id: String
        let key: String
        let data: String
    }

    let rows: [Row]

    init(count: Int) {
        var random = SplitMix(state: 42)
        rows = (0..<count).map { number in
            let id = Self.uuid(&random)
            let owner = Self.uuid(&random)
            let text = (0..<4).map { _ in Self.hexadecimal(random.next()) }.joined()
            let data =
                "{\"id\":\"\(id)\",\"owner_id\":\"\(owner)\",\"description\":\"\(text)\",\"position\":\(number % 1000),"
                + "\"completed\":0,\"weight\":\(number % 97).5,\"created_at\":\"2026-01-02T03:04:05.678901Z\","
                + "\"note\":\"row \(10_000_000 + number) of many that look alike\"}"
            let subkey = Self.hexadecimal(random.next()) + Self.hexadecimal(random.next()).prefix(8)
            return Row(id: id, key: "todos/\(id)/\(subkey)", data: data)
        }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func uuid(_ random: inout SplitMix) -> String {
        let digits = Array(hexadecimal(random.next()) + hexadecimal(random.next()))
        let part = { (range: Range<Int>) in String(digits[range]) }
        return "\(part(0..<8))-\(part(8..<12))-4\(part(13..<16))-8\(part(17..<20))-\(part(20..<32))"
    }
}

/// A small seeded generator (SplitMix64).
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
