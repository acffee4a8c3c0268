import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire

/// Random expressions over the columns of a row, and the SQL that says the same to SQLite.
struct RandomExpressions {
    /// The service has another `Expression` for now.
    typealias Made = Expression

    /// An expression in both forms; a column is the place of a parameter, which has no affinity either.
    struct Sample {
        /// As the language has it.
        let expression: Made
        /// As SQLite reads it.
        let sql: String
    }

    /// The columns.
    static let columns = ["a", "b", "c"]

    /// What is drawn next.
    var random: SeededRandom

    private static let numbers: [ScalarValue] = [
        .integer(0), .integer(1), .integer(-1), .integer(2), .integer(7), .integer(63), .integer(.max),
        .integer(.min), .real(0), .real(1), .real(2.5), .real(-0.25), .real(1e15), .real(1e-5),
        .real(123456.789),
    ]

    private static let texts: [ScalarValue] = [
        "", "0", "1", " 2 ", "2x", "-0", "+5", "1.0", "2.50", "1e3", "1e", ".5", "1.", ".",
        "9223372036854775808", "-9223372036854775809x", "a", "A", "abc", "é", "b😀c", "Zß",
    ].map { ScalarValue(text: $0) }

    private static let blobs: [ScalarValue] = [.blob([]), .blob(Array("1".utf8)), .blob(Array("abc".utf8))]

    private static let values: [ScalarValue] = [.null] + numbers + texts + blobs

    private static let json = [
        #"{"a":1,"b":{"c":[1,2.50]},"n":null,"t":true,"a":2}"#, "[1, 2.5, null, true, \"1\", [7]]", "17",
        "\"text\"", "null", "[]", "9223372036854775808",
    ]

    private static let paths = ["$", "$.a", "$.b.c", "$.b.c[1]", "$[0]", "$[#-1]", "$[9]", "$.\"n\"", "$.t"]

    /// Draws with a generator.
    init(_ random: SeededRandom) { self.random = random }

    /// A value for each column.
    mutating func row() -> [ScalarValue] { Self.columns.map { _ in random.pick(Self.values) } }

    /// An expression of so many levels at most.
    mutating func sample(depth: Int) -> Sample {
        if depth == 0 || random.once(in: 6) { return leaf() }
        switch random.below(16) {
        case 0: return cast(depth)
        case 1, 2: return arithmetic(depth)
        case 3: return two(depth, "||") { .concat($0, $1) }
        case 4, 5: return comparison(depth)
        case 6: return two(depth, "IS") { .isSame($0, $1) }
        case 7: return two(depth, "AND") { .and([$0, $1]) }
        case 8: return two(depth, "OR") { .or([$0, $1]) }
        case 9:
            let inner = sample(depth: depth - 1)
            return Sample(expression: .not(inner.expression), sql: "(NOT \(inner.sql))")
        case 10: return check(depth)
        case 11: return between(depth)
        case 12: return oneOf(depth)
        case 13: return choice(depth)
        case 14: return member()
        default: return call(depth)
        }
    }

    private mutating func leaf() -> Sample {
        if random.once(in: 2) {
            let index = random.below(Self.columns.count)
            return Sample(
                expression: .column(.row(0), ExactText(Self.columns[index])), sql: "?\(index + 1)")
        }
        return literal(random.pick(Self.values))
    }

    private func literal(_ value: ScalarValue) -> Sample {
        let sql =
            switch value {
            case .null: "NULL"
            // The least integer has no literal: its digits alone are too many.
            case .integer(.min): "(-9223372036854775807 - 1)"
            case .integer(let integer): "(\(integer))"
            case .wide(let integer): "(\(integer.digits.text))"
            case .real(let real): "(\(NumberText.real(real)))"
            case .text(let text): Self.quoted(text.text)
            case .blob(let bytes):
                "x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
            }
        return Sample(expression: .literal(value), sql: sql)
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

    private mutating func two(
        _ depth: Int, _ sign: String, _ make: (Made, Made) -> Made
    ) -> Sample {
        let left = sample(depth: depth - 1)
        let right = sample(depth: depth - 1)
        return Sample(
            expression: make(left.expression, right.expression), sql: "(\(left.sql) \(sign) \(right.sql))")
    }

    private mutating func cast(_ depth: Int) -> Sample {
        let type = random.pick(CastType.allCases)
        let inner = sample(depth: depth - 1)
        return Sample(
            expression: .cast(type, inner.expression),
            sql: "CAST(\(inner.sql) AS \(type.rawValue))")
    }

    private mutating func arithmetic(_ depth: Int) -> Sample {
        let operation = random.pick(Arithmetic.allCases)
        return two(depth, operation.rawValue) { .arithmetic(operation, $0, $1) }
    }

    private mutating func comparison(_ depth: Int) -> Sample {
        let comparison = random.pick(Comparison.allCases)
        return two(depth, comparison.rawValue) { .comparison(comparison, $0, $1) }
    }

    private mutating func check(_ depth: Int) -> Sample {
        let inner = sample(depth: depth - 1)
        switch random.below(3) {
        case 0: return Sample(expression: .isNull(inner.expression), sql: "(\(inner.sql) IS NULL)")
        case 1: return Sample(expression: .isTrue(inner.expression, true), sql: "(\(inner.sql) IS TRUE)")
        default: return Sample(expression: .isTrue(inner.expression, false), sql: "(\(inner.sql) IS FALSE)")
        }
    }

    private mutating func between(_ depth: Int) -> Sample {
        let parts = (0..<3).map { _ in sample(depth: depth - 1) }
        return Sample(
            expression: .between(parts[0].expression, parts[1].expression, parts[2].expression),
            sql: "(\(parts[0].sql) BETWEEN \(parts[1].sql) AND \(parts[2].sql))")
    }

    private mutating func oneOf(_ depth: Int) -> Sample {
        let value = sample(depth: depth - 1)
        let others = (0..<random.below(3) + 1).map { _ in sample(depth: depth - 1) }
        return Sample(
            expression: .oneOf(value.expression, others.map(\.expression)),
            sql: "(\(value.sql) IN (\(others.map(\.sql).joined(separator: ", "))))")
    }

    private mutating func choice(_ depth: Int) -> Sample {
        let base = random.once(in: 2) ? sample(depth: depth - 1) : nil
        let parts = (0..<4).map { _ in sample(depth: depth - 1) }
        let last = random.once(in: 2) ? sample(depth: depth - 1) : nil
        let branches = [(parts[0], parts[1]), (parts[2], parts[3])]
        let sql = branches.map { "WHEN \($0.sql) THEN \($1.sql)" }.joined(separator: " ")
        return Sample(
            expression: .choice(
                base: base?.expression,
                branches.map { .init(when: $0.expression, then: $1.expression) },
                otherwise: last?.expression),
            sql: "CASE \(base?.sql ?? "") \(sql) \(last.map { "ELSE \($0.sql)" } ?? "") END")
    }

    private mutating func member() -> Sample {
        let value = literal(ScalarValue(text: random.pick(Self.json)))
        let form = random.pick(MemberForm.allCases)
        let names = ["a", "b", "n", "t", "zz", "0", "1", "5"].map { ScalarValue(text: $0) }
        let paths = Self.paths.map { ScalarValue(text: $0) }
        let name = literal(random.pick(names + paths + [.integer(0), .integer(3), .null]))
        return Sample(
            expression: .member(value.expression, name.expression, form),
            sql: "(\(value.sql) \(form.rawValue) \(name.sql))")
    }

    private mutating func call(_ depth: Int) -> Sample {
        let (function, count): (Function, Int) = random.pick([
            (.upper, 1), (.lower, 1), (.length, 1), (.substring, 2), (.substring, 3), (.substr, 3),
            (.instr, 2), (.hex, 1), (.typeof, 1), (.ifnull, 2), (.iif, 3), (.jsonExtract, 2),
            (.jsonExtract, 3), (.jsonArrayLength, 1), (.jsonArrayLength, 2),
        ])
        var arguments: [Sample]
        if function == .jsonExtract || function == .jsonArrayLength {
            arguments = [literal(ScalarValue(text: random.pick(Self.json)))]
            while arguments.count < count {
                arguments.append(literal(ScalarValue(text: random.pick(Self.paths))))
            }
        } else {
            arguments = (0..<count).map { _ in sample(depth: depth - 1) }
        }
        let sql = "\(function.rawValue)(\(arguments.map(\.sql).joined(separator: ", ")))"
        return Sample(expression: .call(function, arguments.map(\.expression)), sql: sql)
    }
}
