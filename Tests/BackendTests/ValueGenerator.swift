import PowerSyncCrypto
import PowerSyncTestSupport
import PowerSyncWire

/// Makes values for columns of every kind: such as apps send, and such as nobody should (backend 2.4; 7, number 10).
struct ValueGenerator {
    /// What values of a column look like when they fit.
    indirect enum Flavor: Sendable {
        case truth, number, moment, time, text, json, bytes
        case list(Flavor)
        case range(Flavor)
        case ranges(Flavor)
        case words([String])
    }

    /// A column of the table `vals`.
    struct Column: Sendable {
        let name: String
        let type: String
        let flavor: Flavor
        /// What the table map says about it.
        var options: String?
    }

    private static let uuids: Flavor = .words([
        "0F8FAD5B-D9CB-469F-A165-70867728950E", "{0f8fad5bd9cb469fa16570867728950e}", "0f8fad5b", "００",
    ])
    private static let spans: Flavor = .words([
        "PT90M", "1 day", "-1:00:00", "P1Y2M", "1e300 years", "infinity", "90",
    ])
    private static let addresses: Flavor = .words([
        "10.0.0.1", "::1/64", "08:00:2b:01:02:03", "10/8", "nowhere",
    ])
    private static let bits: Flavor = .words(["101", "", "x1F", "xFFFFFFFFFFFFFFFF", "b01", "2"])

    static let columns: [Column] = [
        Column(name: "flag", type: "boolean", flavor: .truth),
        Column(name: "flags", type: "bool[]", flavor: .list(.truth)),
        Column(name: "small", type: "int2", flavor: .number),
        Column(name: "whole", type: "int4", flavor: .number),
        Column(name: "big", type: "int8", flavor: .number),
        Column(name: "nums", type: "int[]", flavor: .list(.number)),
        Column(name: "exact", type: "numeric", flavor: .number),
        Column(name: "scaled", type: "numeric(12, 3)", flavor: .number),
        Column(name: "hundreds", type: "numeric(400, -2)", flavor: .number),
        Column(name: "priced", type: "price", flavor: .number),
        Column(name: "amounts", type: "numeric[]", flavor: .list(.number)),
        Column(name: "filled", type: "numeric(1000, 900)[]", flavor: .list(.number)),
        Column(name: "endless", type: "numeric", flavor: .number, options: "infinity: accept"),
        Column(name: "single", type: "float4", flavor: .number),
        Column(name: "double", type: "float8", flavor: .number),
        Column(name: "doubles", type: "float8[]", flavor: .list(.number), options: "infinity: accept"),
        Column(name: "note", type: "text", flavor: .text),
        Column(name: "short", type: "varchar(5)", flavor: .text),
        Column(name: "fixed", type: "char(8)", flavor: .text),
        Column(name: "loose", type: "bpchar", flavor: .text),
        Column(name: "tags", type: "text[]", flavor: .list(.text)),
        Column(name: "padded", type: "char(200)[]", flavor: .list(.text)),
        Column(name: "maybe", type: "text", flavor: .text, options: "empty: null"),
        Column(name: "doc", type: "jsonb", flavor: .json), Column(name: "raw", type: "json", flavor: .json),
        Column(name: "docs", type: "jsonb[]", flavor: .list(.json)),
        Column(name: "raws", type: "json[]", flavor: .list(.json)),
        Column(name: "kept", type: "jsonb", flavor: .json, options: "json_strings: keep"),
        Column(name: "photo", type: "bytea", flavor: .bytes),
        Column(name: "photos", type: "bytea[]", flavor: .list(.bytes)),
        Column(name: "hexes", type: "bytea", flavor: .bytes, options: "encoding: hex"),
        Column(name: "at", type: "timestamptz", flavor: .moment),
        Column(name: "ats", type: "timestamptz[]", flavor: .list(.moment)),
        Column(name: "wall", type: "timestamp", flavor: .moment),
        Column(name: "walls", type: "timestamp[]", flavor: .list(.moment)),
        Column(name: "day", type: "date", flavor: .moment),
        Column(name: "days", type: "date[]", flavor: .list(.moment), options: "infinity: accept"),
        Column(name: "due", type: "timestamptz", flavor: .moment, options: "infinity: accept, epoch: ms"),
        Column(name: "since", type: "timestamp", flavor: .number, options: "epoch: s, empty: null"),
        Column(name: "born", type: "date", flavor: .number, options: "epoch: s"),
        Column(name: "clock", type: "time", flavor: .time),
        Column(name: "clocks", type: "timetz[]", flavor: .list(.time)),
        Column(name: "span", type: "interval", flavor: spans),
        Column(name: "spans", type: "interval[]", flavor: .list(spans)),
        Column(name: "ref", type: "uuid", flavor: uuids),
        Column(name: "refs", type: "uuid[]", flavor: .list(uuids)),
        Column(name: "feeling", type: "mood", flavor: .words(["good", "so-so", "angry"])),
        Column(name: "three", type: "bit(3)", flavor: bits),
        Column(name: "bits", type: "varbit", flavor: bits),
        Column(name: "address", type: "inet", flavor: addresses),
        Column(name: "net", type: "cidr", flavor: addresses),
        Column(name: "device", type: "macaddr", flavor: addresses),
        Column(name: "places", type: "int4range", flavor: .range(.number)),
        Column(name: "prices", type: "numrange", flavor: .range(.number)),
        Column(name: "bands", type: "nummultirange", flavor: .ranges(.number)),
        Column(name: "outage", type: "tstzrange", flavor: .range(.moment)),
        Column(name: "outages", type: "tsmultirange", flavor: .ranges(.moment)),
        Column(name: "leaves", type: "daterange[]", flavor: .list(.range(.moment))),
        Column(name: "own", type: "textrange", flavor: .range(.text)),
        Column(name: "ownNumbers", type: "decimalrange[]", flavor: .list(.range(.number))),
    ]

    /// The table and its types.
    static var schema: String {
        let columns = columns.map { "\"\($0.name)\" \($0.type)" }.joined(separator: ", ")
        return """
            CREATE TYPE mood AS ENUM ('good', 'so-so');
            CREATE DOMAIN price AS numeric(10, 2) CHECK (value >= 0);
            CREATE TYPE textrange AS RANGE (subtype = text);
            CREATE TYPE decimalrange AS RANGE (subtype = numeric);
            CREATE TABLE vals (id int8 PRIMARY KEY, \(columns));
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """
    }

    /// The table map.
    static var map: String {
        let columns = columns.compactMap { column in column.options.map { "      \(column.name): { \($0) }" }
        }
        return "tables:\n  vals:\n    columns:\n\(columns.joined(separator: "\n"))\n"
    }

    private var random: SeededRandom

    init(_ random: SeededRandom) { self.random = random }

    /// Returns the data of one operation: a value of one or two columns.
    mutating func data() -> JSON {
        var members: [JSONMember] = []
        for _ in 0..<(random.once(in: 5) ? 2 : 1) {
            let column = random.pick(Self.columns)
            members.append(JSONMember(column.name, value(column.flavor)))
        }
        return .object(members)
    }

    private mutating func value(_ flavor: Flavor) -> JSON {
        switch random.below(100) {
        case ..<70: return fitting(flavor)
        case ..<85: return .string(random.pick(Self.hostile))
        case ..<92:
            return fitting(random.pick([.truth, .number, .moment, .text, .json, .bytes, .list(.number)]))
        case ..<96: return tree(depth: random.below(24))
        case ..<99: return .string(noise())
        default: return repeated(flavor)
        }
    }

    /// Words that mean something to Postgres, and beginnings of what it would read.
    private static let hostile = [
        "", " ", "null", "NULL", "{}", "[]", "{", "[", "now", "{now}", "{NaN}", "NaN", "{Infinity}",
        "-infinity", "today",
        "[now,)", "{[now,)}", "empty", "epoch", "allballs", "a\0b", "1e131071", "{1e131071}", "[1e131071]",
        "1e400", "1e401",
        "[1e400]", "{1e400}", "[1e399,2e399)", "1e-9223372036854775808", "[1e-9223372036854775808]", "\\x",
        "\\xzz", "\\",
        "{\"\\", "{{1},{2}}", "{{1},{2,3}}", "{{{{{{{1}}}}}}}", "[1:1]={1}", "{\"1\",NULL}", "[[1],[2]]",
        "2025-02-30",
        "0000-01-01 00:00:00Z", "9999-12-31 23:59:59Z", "9999-12-31 23:59:59-15:59", "0001-01-01 00:00+15",
        "24:00:00",
        "{\"a\":{\"a\":[1e399]}}", "\"\\u0000\"", "[\"\\u0000\"]", "\u{FF11}", "é", "\u{1F600}",
        "'; DROP TABLE vals; --",
        "1 second ago", "P1Y", "x" + String(repeating: "F", count: 4_000), String(repeating: " ", count: 300),
    ]

    private mutating func fitting(_ flavor: Flavor) -> JSON {
        switch flavor {
        case .truth:
            return random.pick([
                .bool(true), .bool(false), .number("0"), .number("1.0"), .string("yes"), .number("2"),
            ])
        case .number:
            let lexeme = lexeme()
            return random.once(in: 3) ? .string(lexeme) : .number(lexeme)
        case .moment: return .string(moment())
        case .time: return .string(time() + random.pick(["", "Z", "+02", "-05:30", "+99"]))
        case .text: return .string(text(random.below(12)))
        case .json:
            let tree = tree(depth: random.below(5))
            return random.once(in: 2) ? .string(tree.text) : tree
        case .bytes: return .string(bytes())
        case .list(let element): return list(element, depth: random.once(in: 5) ? 2 : 1)
        case .range(let bound): return .string(range(bound))
        case .ranges(let bound):
            return .string("{" + (0..<random.below(3)).map { _ in range(bound) }.joined(separator: ",") + "}")
        case .words(let words): return .string(random.pick(words))
        }
    }

    private mutating func digits(_ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8(0x30 + random.below(10)) }, as: UTF8.self)
    }

    /// A number as JSON spells it.
    private mutating func lexeme() -> String {
        let size = random.pick(weighted: [
            (60, 3), (15, 9), (10, 19), (5, 25), (4, 120), (2, 399), (2, 400), (2, 800),
        ])
        var text = random.once(in: 4) ? "-" : ""
        text += random.once(in: 8) ? "0" : String(1 + random.below(9)) + digits(random.below(size))
        if random.once(in: 3) { text += "." + digits(1 + random.below(size)) }
        if random.once(in: 4) {
            text += random.pick(["e", "E", "e+", "e-"])
            text += random.pick([
                "0", "2", "15", "120", "307", "399", "400", "401", "4000", "131071", "9223372036854775807",
                "9223372036854775808",
            ])
        }
        return text
    }

    private mutating func moment() -> String {
        let year = random.pick(weighted: [
            (8, "2025"), (1, "0001"), (1, "9999"), (1, "0000"), (1, "10000"), (1, "294276"),
        ])
        var text = "\(year)-\(random.pick(["01", "02", "12", "13"]))-\(random.pick(["01", "28", "29", "31"]))"
        if !random.once(in: 4) {
            text += random.pick(["T", " "]) + time()
            text += random.pick(["", "Z", "+02:00", "-0530", "+15:59", "-15:59", "+16:00", " +01"])
        }
        return text + random.pick(weighted: [(12, ""), (1, " BC"), (1, " UTC")])
    }

    private mutating func time() -> String {
        random.pick(["00:00", "10:20:30", "23:59:59.999999", "23:59:60", "24:00:00", "10:00:00."])
            + (random.once(in: 6) ? digits(8) : "")
    }

    private mutating func text(_ count: Int) -> String {
        var text = ""
        for _ in 0..<count {
            text.unicodeScalars.append(
                random.pick([
                    "a", "b", "Z", " ", "\"", "\\", ",", "{", "}", "\n", "\u{7}", "é", "\u{301}", "\u{1F600}",
                ]))
        }
        return text
    }

    private mutating func bytes() -> String {
        let bytes = (0..<random.below(20)).map { _ in UInt8(random.below(256)) }
        let base64 = Base64.encode(bytes)
        return random.pick([
            base64, Hexadecimal.encode(bytes), "\\x" + Hexadecimal.encode(bytes), Base64URL.encode(bytes),
            base64 + "\n",
            "\\x" + String(Hexadecimal.encode(bytes).dropLast()),
        ])
    }

    private mutating func tree(depth: Int) -> JSON {
        switch random.below(depth > 0 ? 7 : 4) {
        case 0: return random.pick([.null, .bool(true), .bool(false)])
        case 1: return .number(lexeme())
        case 2: return .string(text(random.below(8)))
        case 3: return .string(random.pick(Self.hostile))
        case 4, 5:
            return .array((0..<random.below(3) + (depth > 8 ? 1 : 0)).map { _ in tree(depth: depth - 1) })
        default:
            return .object((0..<random.below(3)).map { _ in JSONMember(text(3), tree(depth: depth - 1)) })
        }
    }

    private mutating func list(_ element: Flavor, depth: Int) -> JSON {
        let form = random.below(3)
        let count = random.pick(weighted: [(40, random.below(5)), (2, 100), (1, 2_000)])
        if form == 2 { return .string(literal(element, count: min(count, 300), depth: depth)) }
        let array = nested(element, count: count, depth: depth)
        return form == 1 ? .string(array.text) : array
    }

    private mutating func nested(_ element: Flavor, count: Int, depth: Int) -> JSON {
        if depth > 1 {
            return .array((0..<2).map { _ in nested(element, count: min(count, 3), depth: depth - 1) })
        }
        return .array((0..<count).map { _ in random.once(in: 12) ? .null : fitting(element) })
    }

    /// `{…}` with quotes that are needed, and often with some that are not.
    private mutating func literal(_ element: Flavor, count: Int, depth: Int) -> String {
        let parts = (0..<count).map { _ -> String in
            if depth > 1 { return literal(element, count: 2, depth: depth - 1) }
            if random.once(in: 12) { return "NULL" }
            let value = fitting(element)
            let text = value.stringValue ?? value.text
            guard random.once(in: 2) || text.contains(where: { "{},\"\\ ".contains($0) }) else { return text }
            return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        return "{" + parts.joined(separator: random.pick([",", ", "])) + "}"
    }

    private mutating func range(_ bound: Flavor) -> String {
        func text(_ value: JSON) -> String { value.stringValue ?? value.text }
        let one = { (random: inout ValueGenerator) -> String in
            let ends = (0..<2).map { _ in random.random.once(in: 5) ? "" : text(random.fitting(bound)) }
            let quoted = ends.map { end in
                random.random.once(in: 2) && !end.isEmpty
                    ? "\"" + end.replacing("\"", with: "\\\"") + "\"" : end
            }
            return random.random.pick(["[", "("]) + quoted.joined(separator: ",")
                + random.random.pick(["]", ")"])
        }
        switch random.below(6) {
        case 0: return "empty"
        case 1: return "{" + (0..<random.below(4)).map { _ in one(&self) }.joined(separator: ",") + "}"
        default: return one(&self)
        }
    }

    /// Characters that structure is made of.
    private mutating func noise() -> String {
        let characters = Array("{}[](),:\"\\ .-+eE0123456789xTZntulrfase")
        return String((0..<random.below(40)).map { _ in random.pick(characters) })
    }

    /// What is short and printed at length, as often as it takes to come near a limit.
    private mutating func repeated(_ flavor: Flavor) -> JSON {
        let element = random.pick([
            "1e399", "1e-399", "9.99e350", "1e40", "0", "\"2025-01-01\"", "\"\"", "null", "[]",
        ])
        let count = random.pick([1_000, 10_000, 24_000, 27_000])
        let inner = Array(repeating: element, count: count).joined(separator: ",")
        return .string(random.once(in: 2) ? "[\(inner)]" : "{\(inner)}")
    }
}
