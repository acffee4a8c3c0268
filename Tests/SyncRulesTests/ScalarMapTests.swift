import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncYAML
import Testing

/// The way from a scalar's value back to the YAML.
struct ScalarMapTests {
    /// The text of the YAML that a part of the scalar at the key `q` was made of.
    private func source(of part: String, in yaml: String) throws -> String? {
        let text = SourceText(yaml)
        let node = try #require(try YAMLNode.parse(yaml)?["q"])
        let query = try #require(QueryText(node, in: text))
        let wanted = Array(part.utf8)
        let found = query.bytes.indices.first { query.bytes[$0...].starts(with: wanted) }
        guard let start = found else { return nil }
        let range = query.range(start..<start + wanted.count)
        return String(decoding: text.bytes[range.start..<range.end], as: UTF8.self)
    }

    /// A scalar, a part of its value, and what of the text is its.
    @Test(arguments: [
        ("q: SELECT a\n   FROM t # c\n", "FROM t", "FROM t"),
        ("q: SELECT a\n   FROM t # c\n", "a FROM", "a\n   FROM"),
        ("q: a\n\n   b", "a\nb", "a\n\n   b"),
        ("q: 'a = ''x'' AND b'", "'x'", "''x''"),
        ("q: 'a = ''x'' AND b'", "b", "b"),
        ("q: \"a = \\\"x\\\" \\u00e9 b\"", "\"x\"", "\\\"x\\\""),
        ("q: \"a = \\\"x\\\" \\u00e9 b\"", "é", "\\u00e9"),
        ("q: \"a = \\\"x\\\" \\u00e9 b\"", "b", "b"),
        ("q: \"\\x41\\U0001F600\\N\\\\c\"", "A😀\u{85}\\", "\\x41\\U0001F600\\N\\\\"),
        ("q: \"\\x41\\U0001F600\\N\\\\c\"", "c", "c"),
        ("q: \"ab\\\n  cd\"", "bc", "b\\\n  c"),
        ("q: \" é  b \"", "  b ", "  b "),
        ("q: |\n  SELECT *\n\n    FROM t\n", "FROM", "FROM"),
        ("q: |\n  SELECT *\n\n    FROM t\n", "*\n\n  FROM", "*\n\n    FROM"),
        ("q: | # c\r\n  a\r\n  b\r\n", "a\nb\n", "a\r\n  b\r\n"),
        ("q: >-\n  a\n  b\n", "a b", "a\n  b"),
        ("q: >\n  a\n   b\n  c\n", "a\n b\nc\n", "a\n   b\n  c\n"),
        ("q: |2\n     x\n", " x", " x"),
        ("q: |+\n  x\n\n", "x\n\n", "x\n\n"),
        ("q: !t &a 'x y'", "y", "y"),
        ("q: &a:b c", "b c", "b c"),
        ("é: 1\nq: ü b", "b", "b"),
    ])
    func findsWhatWasMadeOfWhat(_ yaml: String, _ part: String, _ text: String) throws {
        #expect(try source(of: part, in: yaml) == text)
    }

    @Test func theContentIsWithoutQuotes() throws {
        let yaml = "q: 'a b'\ne: ''\n"
        let (text, root) = (SourceText(yaml), try #require(try YAMLNode.parse(yaml)))
        let (first, second) = (try #require(root["q"]), try #require(root["e"]))
        let query = try #require(QueryText(first, in: text))
        #expect(query.content == TextRange(start: 4, end: 7))
        #expect(query.whole == TextRange(start: 3, end: 8))
        let empty = try #require(QueryText(second, in: text))
        #expect(empty.content == TextRange(start: 12, end: 14))
        #expect(QueryText(root, in: text) == nil)
    }

    private static let heads = [
        "k: |\n  ", "k: >\n  ", "k: |-\n  ", "k: >+\n  ", "k: |2\n  ", "k: >1-\n ", "k: \"", "k: '", "k: ",
        "- |\n  ", "|\n ", "- - >2+ # c\n    ", "k: &a !t ", "{k: ", "é: ü\nk: \"",
    ]
    private static let words = [
        "a", "b", " ", "  ", "\n", "\n", "\n\n", "\r\n", "\t", "é", "\u{2028}", "\u{85}", "'", "''", "\\n",
        "\\x41", "\\\n", "\\u00e9", "\\\"", "\\L", "-", "#", " #", "\n   ", "\n     ", "😀",
    ]

    /// The scalars of a node.
    private func scalars(_ node: YAMLNode) -> [YAMLNode] {
        switch node.kind {
        case .scalar: [node]
        case .sequence(let elements): elements.flatMap { scalars($0) }
        case .mapping(let pairs): pairs.flatMap { scalars($0.key) + scalars($0.value) }
        }
    }

    /// It is never unknown, however a scalar is written.
    @Test(.namesSeed) func everyByteOfRandomScalarsHasItsPlace() async throws {
        var count = 0
        try await forEachSeed(4_000) { random in
            let head = random.pick(Self.heads)
            var text = head
            for _ in 0..<random.below(15) { text += random.pick(Self.words) }
            if head.hasSuffix("\"") { text += "\"" }
            if head.hasSuffix("'") { text += "'" }
            if head.hasPrefix("{") { text += "}" }
            text += random.pick(["", "\n", "\nx: 1\n"])
            // Many are no YAML.
            guard let root = try? YAMLNode.parse(text) else { return }
            let bytes = Array(text.utf8)
            for node in scalars(root) {
                let value = Array((node.string ?? "").utf8)
                let map = ScalarMap(node, in: bytes)
                var (valueEnd, textEnd) = (0, node.start)
                for run in map.runs {
                    #expect(run.value.lowerBound == valueEnd && run.text.lowerBound >= textEnd)
                    #expect(!run.value.isEmpty && !run.text.isEmpty)
                    (valueEnd, textEnd) = (run.value.upperBound, run.text.upperBound)
                }
                #expect(valueEnd == value.count && textEnd <= node.end, "\(text.debugDescription)")
                count += 1
            }
        }
        #expect(count > 2_000 || TestOptions.number("POWERSYNC_SEED", standard: -1) >= 0)
    }
}
