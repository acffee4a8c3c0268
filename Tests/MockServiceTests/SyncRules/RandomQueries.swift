import PowerSyncSyncRules
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire

/// Queries of one table, and rows for them, by a seed.
struct RandomQueries {
    /// The columns of the table.
    static let columns = ["id", "a", "b", "c", "d", "0", "10", "x y"]

    /// What is drawn next.
    var random: SeededRandom

    private static let values: [SQLiteValue] = [
        nil, 0, 1, -1, 3, 314, 9_007_199_254_740_993, .integer(.max), .integer(.min), .real(0), .real(3),
        .real(3.5), .real(-0.25), .real(1e300), .real(9_007_199_254_740_992), .real(.infinity), .real(.nan),
        "", "0", "1", " 2x", "-0", "+5", "a", "A", "é", "e\u{301}", "\u{D7FF}", "\u{E000}", "\u{FFFD}",
        "😀", "😀a", "\"q\\", "line\nend\u{1}\t", "99999999999999999999",
        .blob([]), .blob([1, 2]), .blob([0xFF, 0x41]),
    ]

    private static let literals = [
        "NULL", "true", "false", "0", "1", "-1", "3", "3.0", "3.5", "314", "9007199254740993",
        "''", "'0'", "'1'", "'a'", "'it''s'", "'é'", "'e\u{301}'", "'\u{E000}'", "'😀'", "'-0'",
    ]

    private static let names = [
        "id", "a", "b", "x", "0", "1", "07", "10", "4294967295", "x y", "é", "e\u{301}",
    ]

    /// Draws with a generator.
    init(_ random: SeededRandom) { self.random = random }

    /// A row, a value for each column.
    mutating func row() -> [SQLiteValue] {
        // Values that are alike make comparisons say something.
        let few = (0..<3).map { _ in random.pick(Self.values) }
        return Self.columns.map { _ in random.once(in: 2) ? random.pick(few) : random.pick(Self.values) }
    }

    /// A query of the table `t` that the service takes.
    mutating func query() -> String {
        while true {
            let query = anyQuery()
            let config = SyncConfig.compile(
                "config: {edition: 3}\nstreams:\n  s: {query: \(JSON.quoted(query))}\n")
            if config.plan != nil { return query }
        }
    }

    /// A query that may have no column of a table.
    private mutating func anyQuery() -> String {
        var conditions: [String] = []
        for _ in 0..<random.below(3) { conditions.append("(\(expression(depth: 3)))") }
        for _ in 0..<random.pick([0, 0, 0, 1, 1, 2]) {
            let value = random.once(in: 4) ? "(\(expression(depth: 1)))" : column()
            let request = random.pick(["auth.user_id()", "subscription.parameter('p')"])
            // Of an expression without a column it is a gate.
            conditions.append("\(value) = \(request)")
        }
        let filter = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        let name = random.pick(["things", "é"])
        let alias = random.once(in: 3) ? " AS \"\(name)\"" : ""
        return "SELECT \(output()) FROM t\(alias)\(filter)"
    }

    private mutating func output() -> String {
        var items: [String] = random.once(in: 3) ? [] : ["*"]
        for _ in 0..<random.below(4) {
            switch random.below(3) {
            case 0: items.append(column())
            case 1: items.append("\(column()) AS \"\(random.pick(Self.names))\"")
            default: items.append("(\(expression(depth: 2))) AS \"\(random.pick(Self.names))\"")
            }
        }
        if items.isEmpty { items = ["id"] }
        return items.joined(separator: ", ")
    }

    private mutating func column() -> String {
        // One of them is not there.
        "\"\(random.once(in: 12) ? "gone" : random.pick(Self.columns))\""
    }

    private mutating func expression(depth: Int) -> String {
        if depth == 0 || random.once(in: 5) {
            return random.once(in: 3) ? random.pick(Self.literals) : column()
        }
        let left = "(\(expression(depth: depth - 1)))"
        switch random.below(10) {
        case 0: return "NOT \(left)"
        case 1: return "\(left) IS NULL"
        case 2: return "\(left) IS NOT NULL"
        case 3, 4: return "\(left) AND (\(expression(depth: depth - 1)))"
        case 5, 6: return "\(left) OR (\(expression(depth: depth - 1)))"
        default:
            let comparison = random.pick(["=", "!=", "<>", "<", "<=", ">", ">="])
            return "\(left) \(comparison) (\(expression(depth: depth - 1)))"
        }
    }
}
