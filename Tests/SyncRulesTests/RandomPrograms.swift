import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire

/// Processors, lookups and rows of a table, by a seed.
struct RandomPrograms {
    /// The table.
    static let shape = TableShape(
        tag: ExactText("default"), schema: ExactText("public"), name: ExactText("assets_é"),
        columns: ["id", "a", "b", "_c", "10", "list"].map { ExactText($0) })

    /// What is drawn next.
    var random: SeededRandom

    private static let numbers: [ScalarValue] = [
        .null, .integer(0), .integer(1), .integer(-7), .integer(.max), .integer(.min), .real(0.5), .real(3),
        .real(-0.0), .real(1e300), .real(.nan), ScalarValue(digits: "18446744073709551616") ?? .null,
    ]

    private static let blobs: [ScalarValue] = [.blob([]), .blob([0xFF, 0x41]), .blob(Array("12".utf8))]

    private static let values = numbers + blobs + texts.map { ScalarValue(text: $0) }

    private static let texts = [
        "", "0", "1", "-3x", " 2.5", "a", "A", "é", "😀", "\u{E000}", "line\n\"q\"", "{\"a\": [1, \"a\"]}",
        "[]", "null", "2023-03-06 13:47:00",
    ]

    private static let lists = [
        "[1, \"a\", 2.5, null, true]", "[\"1\", \"é\"]", "{\"a\": 1, \"2\": [3]}", "[[1, 2], [3], []]", "7",
    ].map { ScalarValue(text: $0) }

    private static let names = ["id", "a", "x", "10", "2", "é"]

    /// Draws with a generator.
    init(_ random: SeededRandom) { self.random = random }

    /// A value for each column.
    mutating func row() -> [ScalarValue] {
        let few = (0..<3).map { _ in random.pick(Self.values) }
        return Self.shape.columns.map { column in
            if column == ExactText("list") { return random.pick(Self.lists + [.null]) }
            return random.once(in: 2) ? random.pick(few) : random.pick(Self.values)
        }
    }

    /// Options of any edition and engine.
    mutating func options() -> CompatibilityOptions {
        var options = CompatibilityOptions(edition: random.below(3) + 1)
        if random.once(in: 3) {
            options = CompatibilityOptions(edition: 3)
            options.engine = .sqlite
        }
        return options
    }

    /// A processor.
    mutating func processor() -> RowProcessor {
        let expansions = expansions()
        let outputs = (0..<random.below(4)).map { _ -> RowProcessor.Output in
            if random.once(in: 2) { return .allColumns }
            let value = random.once(in: 2) ? column() : expression(depth: 2, loops: expansions.count)
            return .column(value, name: ExactText(random.pick(Self.names)))
        }
        return RowProcessor(
            table: pattern(), type: random.once(in: 2) ? .table : .named(ExactText("things")),
            expansions: expansions, filters: filters(loops: expansions.count),
            keys: keys(loops: expansions.count), outputs: outputs, form: .edition(random.pick([1, 3])))
    }

    /// A lookup.
    mutating func lookup() -> LookupDefinition {
        let expansions = expansions()
        let outputs = (0..<random.below(3)).map { _ in expression(depth: 1, loops: expansions.count) }
        return LookupDefinition(
            name: ExactText("lookup|0"), table: pattern(), expansions: expansions,
            filters: filters(loops: expansions.count), keys: keys(loops: expansions.count), outputs: outputs)
    }

    private mutating func pattern() -> TablePattern {
        TablePattern(
            tag: .exact(Self.shape.tag), schema: .exact(Self.shape.schema),
            name: NamePart(ExactText(random.pick(["assets_é", "assets_%", "%"]))))
    }

    private mutating func expansions() -> [Expression] {
        (0..<random.pick([0, 0, 1, 1, 2])).map { depth in
            if depth > 0, random.once(in: 2) { return .element(.element(depth - 1), .value) }
            return random.once(in: 8)
                ? expression(depth: 1, loops: depth) : .column(.row(0), ExactText("list"))
        }
    }

    private mutating func filters(loops: Int) -> [Expression] {
        (0..<random.pick([0, 0, 1, 1, 2])).map { _ in expression(depth: 3, loops: loops) }
    }

    private mutating func keys(loops: Int) -> [Expression] {
        (0..<random.below(3)).map { _ in
            random.once(in: 2) ? column() : expression(depth: 1, loops: loops)
        }
    }

    private mutating func column() -> Expression {
        // One of them is not there.
        let names = Self.shape.columns.map(\.text) + ["gone"]
        return .column(.row(0), ExactText(random.pick(names)))
    }

    private mutating func leaf(_ loops: Int) -> Expression {
        if loops > 0, random.once(in: 3) {
            return .element(.element(random.below(loops)), random.pick([.key, .value, .value]))
        }
        if random.once(in: 12) { return .table(random.pick(TableFact.allCases), .row(0)) }
        return random.once(in: 2) ? column() : .literal(random.pick(Self.values + Self.lists))
    }

    /// An expression of so many levels at most.
    mutating func expression(depth: Int, loops: Int) -> Expression {
        if depth == 0 || random.once(in: 5) { return leaf(loops) }
        func inner(_ programs: inout RandomPrograms) -> Expression {
            programs.expression(depth: depth - 1, loops: loops)
        }
        func several(_ programs: inout RandomPrograms, _ count: Int) -> [Expression] {
            (0..<count).map { _ in inner(&programs) }
        }
        let count = random.below(3) + 1
        let all = several(&self, 4)
        switch random.below(20) {
        case 0: return .cast(random.pick(CastType.allCases), all[0])
        case 1, 2: return .arithmetic(random.pick([.add, .subtract, .multiply, .divide]), all[0], all[1])
        case 3, 4: return .concat(all[0], all[1])
        case 5, 6, 7: return .comparison(random.pick(Comparison.allCases), all[0], all[1])
        case 8: return .isSame(all[0], all[1])
        case 9: return .isTrue(all[0], random.once(in: 2))
        case 10: return .and(Array(all.prefix(count)))
        case 11: return .or(Array(all.prefix(count)))
        case 12: return random.once(in: 2) ? .not(all[0]) : .isNull(all[0])
        case 13: return .between(all[0], all[1], all[2])
        case 14: return .oneOf(all[0], Array(all.suffix(count)))
        case 15:
            let last = inner(&self)
            return choice(all, last)
        case 16: return .member(json(), all[0], random.pick(MemberForm.allCases))
        case 17: return random.once(in: 2) ? .contains(list: json(), all[0]) : .overlaps(json(), json())
        default: return call(all)
        }
    }

    /// What is JSON as a rule.
    private mutating func json() -> Expression {
        random.once(in: 4)
            ? .literal(random.pick(Self.lists)) : .column(.row(0), ExactText(random.pick(["list", "a"])))
    }

    private mutating func choice(_ all: [Expression], _ last: Expression) -> Expression {
        .choice(
            base: random.once(in: 2) ? last : nil,
            [.init(when: all[0], then: all[1]), .init(when: all[2], then: all[3])],
            otherwise: random.once(in: 2) ? last : nil)
    }

    private mutating func call(_ all: [Expression]) -> Expression {
        let function = random.pick(Function.allCases)
        switch function {
        case .jsonExtract:
            let path = ScalarValue(text: random.pick(["$", "$.a", "$[1]", "a"]))
            return .call(function, [json(), .literal(path)])
        case .jsonArrayLength, .jsonKeys, .jsonValid: return .call(function, [json()])
        // Editions 1 and 2 take any number.
        default: return .call(function, Array(all.prefix(random.below(4))))
        }
    }
}
