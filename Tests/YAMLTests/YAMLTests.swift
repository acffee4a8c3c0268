import PowerSyncTestSupport
import PowerSyncYAML
import Testing

@Suite struct YAMLTests {
    @Test func givesEveryNodeItsPlace() throws {
        let root = try #require(try YAMLNode.parse("a: 1\nb:\n  - 'x'\n  - {c: yes}\n"))
        #expect(root["a"]?.int == 1 && root["a"]?.line == 1 && root["a"]?.column == 4)
        let list = try #require(root["b"]?.elements)
        #expect(list[0].string == "x" && list[0].line == 3 && list[0].column == 5)
        #expect(list[1]["c"]?.string == "yes" && list[1]["c"]?.bool == nil)
        #expect(list[0].start == 12 && list[0].end == 15 && list[0].fullEnd == 16)
    }

    @Test func placesAreBytesAndStylesAreTold() throws {
        let text = "é: 'ü' # x\nb: |\n  aé\n\n\nc: {d: e } \n"
        let root = try #require(try YAMLNode.parse(text))
        func places(_ node: YAMLNode?) -> [Int?] { [node?.start, node?.end, node?.fullEnd] }
        #expect(places(root["é"]) == [4, 8, 13] && root["é"]?.style == .single)
        // The blank lines are none of a block scalar, and its end is where libyaml stops.
        #expect(places(root["b"]) == [16, 26, 24] && root["b"]?.style == .literal)
        #expect(places(root["c"]) == [29, 36, 38] && root["c"]?.style == nil)
        #expect(places(root["c"]?["d"]) == [33, 34, 35] && root["c"]?["d"]?.style == .plain)
        #expect(places(root) == [0, 36, 38])
        let kept = try #require(try YAMLNode.parse("a: >+\n  x\n\nb: \"y\"\r\n"))
        #expect(places(kept["a"]) == [3, 11, 11] && kept["a"]?.style == .folded)
        #expect(places(kept["b"]) == [14, 17, 19] && kept["b"]?.style == .double)
    }

    @Test func whatIsNotThereStandsBehindTheBlanks() throws {
        let root = try #require(try YAMLNode.parse("a:\nb:  # c\n"))
        #expect(root["a"]?.start == 2 && root["a"]?.end == 2 && root["a"]?.fullEnd == 2)
        #expect(root["b"]?.start == 7 && root["b"]?.end == 7 && root["b"]?.fullEnd == 7)
        #expect(root.end == 7 && root.fullEnd == 7)
    }

    @Test func tagsAndAnchorsStandBeforeTheirNode() throws {
        let root = try #require(try YAMLNode.parse("a: !x &y 'z'\nb: *y\n"))
        let node = try #require(root["a"])
        #expect(node.outerStart == 3 && node.start == 9 && node.end == 12 && node.column == 4)
        // An alias is where its anchor stands, but what it stands in ends behind it.
        #expect(root["b"]?.start == 9 && root.end == 18 && root.fullEnd == 19)
        let map = try #require(try YAMLNode.parse("a: &m # x\n  k: 1\n"))
        #expect(map["a"]?.outerStart == 3 && map["a"]?.start == 12 && map["a"]?.end == 16)
    }

    /// JSON writes a character beyond the first plane as two escapes, which libyaml refuses.
    @Test func whatToWriteForHalvesOfCharactersIsTold() {
        let halves = #expect(throws: YAMLError.self) { try YAMLNode.parse(#"{"a": "\ud83d\ude00"}"#) }
        #expect(halves?.message.hasSuffix("ensure_ascii=False)") == true)
        #expect(halves?.offset == 9)
        let tooLarge = #expect(throws: YAMLError.self) { try YAMLNode.parse(#"{"a": "\U00110000"}"#) }
        #expect(tooLarge?.message.contains("json.dumps") == false)
    }

    @Test func goesOnBehindKeysThatStandTwice() {
        let document = YAMLDocument("a:\na: 1\na: 2\n")
        #expect(document.duplicates.map { $0.key.start } == [3, 8])
        #expect(document.errors.map(\.offset) == [3, 8] && document.errors.map(\.line) == [2, 3])
        #expect(document.errors.map(\.contextOffset) == [2, nil])
        #expect(document.failure == nil && document.root?.pairs?.count == 3)
        let broken = YAMLDocument("a: 1\na: 2\n  \tb: 1\n")
        #expect(broken.root == nil && broken.errors.map(\.line) == [2, 3])
        // A key over two lines is none; it begins before the place where that is noticed.
        #expect(broken.failure?.offset == 14 && broken.failure?.contextOffset == 8)
    }

    @Test(
        arguments: [
            ("1.5", 1.5), ("-2", -2), ("1e3", 1000), (".5", 0.5), ("0x10", 16), (".inf", .infinity),
            ("nan", nil),
            ("'1'", nil), ("1 2", nil), ("", nil), ("e1", nil), ("0x1p3", nil),
        ] as [(String, Double?)])
    func readsNumbers(text: String, value: Double?) throws {
        #expect(try YAMLNode.parse("k: " + text)?["k"]?.number == value)
    }

    @Test(arguments: [
        ("true", true), ("FALSE", false), ("yes", nil), ("'true'", nil), ("on", nil),
    ])
    func readsTruthValuesOfTheCoreSchemaOnly(text: String, value: Bool?) throws {
        #expect(try YAMLNode.parse("k: " + text)?["k"]?.bool == value)
    }

    @Test(arguments: [
        ("12", 12), ("-3", -3), ("0x1F", 31), ("0o17", 15), ("1.5", nil), ("'12'", nil), ("1e3", nil),
    ])
    func readsWholeNumbers(text: String, value: Int?) throws {
        #expect(try YAMLNode.parse("k: " + text)?["k"]?.int == value)
    }

    @Test(arguments: [("", true), ("~", true), ("null", true), ("''", false), ("x", false)])
    func knowsNull(text: String, isNull: Bool) throws {
        #expect(try YAMLNode.parse("k: " + text)?["k"]?.isNull == isNull)
    }

    @Test func keepsTagsThatAreNotYAMLsOwn() throws {
        let root = try YAMLNode.parse("uri: !env PS_URI\nb: !!str 5\n")
        #expect(root?["uri"]?.tag == "!env" && root?["uri"]?.string == "PS_URI")
        #expect(root?["b"]?.tag == nil)
    }

    @Test func expandsAliases() throws {
        let root = try YAMLNode.parse("a: &x {k: 1}\nb: *x\n")
        #expect(root?["b"]?["k"]?.int == 1)
    }

    @Test func keysThatAreOnlySpelledAlikeAreTwo() throws {
        let pairs = try #require(try YAMLNode.parse("\u{e9}: 1\ne\u{301}: 2\n")?.pairs)
        #expect(pairs.map { $0.value.int } == [1, 2])
    }

    @Test func readsAnEmptyTextAsNoDocument() throws {
        #expect(try YAMLNode.parse("") == nil)
        #expect(try YAMLNode.parse("# only a comment\n") == nil)
    }

    @Test(arguments: [
        ("a: [1\nb: 2\n", 2), ("a: 1\na: 2\n", 2), ("a:\n\t- 1\n", 2), ("a: *nothing\n", 1), ("a: \"x\n", 2),
        ("a: 1\n---\nb: 2\n", 2), ("x: 1\n y: 2\n", 2),
    ])
    func namesTheLineOfWhatIsWrong(text: String, line: Int) {
        let error = #expect(throws: YAMLError.self) { try YAMLNode.parse(text) }
        #expect(error?.line == line)
        #expect(error?.description.hasPrefix("line \(line), column ") == true)
    }

    /// libyaml itself names the line below the last one.
    @Test(arguments: [("a: 1\nb", 2, 2), ("a: [1", 1, 6), ("a: \"x", 1, 6), ("\r\na:\r[", 3, 2)])
    func aPlaceIsInTheText(text: String, line: Int, column: Int) {
        let error = #expect(throws: YAMLError.self) { try YAMLNode.parse(text) }
        #expect(error?.line == line && error?.column == column, "\(text): \(error?.description ?? "")")
    }

    @Test func boundsWhatAliasesAndNestingCanCost() {
        var bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        for level in 1...9 {
            let name = "*a\(level - 1)"
            let list = Array(repeating: name, count: 10).joined(separator: ",")
            bomb += "a\(level): &a\(level) [\(list)]\n"
        }
        let error = #expect(throws: YAMLError.self) { try YAMLNode.parse(bomb) }
        #expect(error?.message == "the document has too many nodes")
        // Few nodes, but each of them is long.
        let long =
            "a: &a \(String(repeating: "x", count: 1 << 20))\nb: [\(String(repeating: "*a,", count: 300))]"
        #expect(throws: YAMLError.self) { _ = try YAMLNode.parse(long) }
        let deep = String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000)
        #expect(throws: YAMLError.self) { try YAMLNode.parse(deep) }
    }

    /// The parser compares each tag with all before it.
    @Test func tagsThatATextNamesHaveALimit() throws {
        func text(_ count: Int) -> String {
            (0..<count).map { "%TAG !t\($0)! tag:x\n" }.joined() + "---\na: b\n"
        }
        #expect(try YAMLNode.parse(text(100))?["a"]?.string == "b")
        let error = #expect(throws: YAMLError.self) { try YAMLNode.parse(text(101)) }
        #expect(error?.message == "the text has more than 100 lines of %TAG")
    }

    @Test func blanksInACommentCostNoSquare() throws {
        try expectNoSquare(of: 20_000) { count in
            let blanks = String(repeating: " ", count: count)
            let root = try YAMLNode.parse("a: &b #\(blanks)\n  c\n")
            #expect(root?["a"]?.string == "c")
        }
    }

    @Test func aliasesAreNoDeeperThanWhatIsWritten() throws {
        func text(_ outer: Int, _ inner: Int) -> String {
            func nested(_ count: Int, _ text: String) -> String {
                String(repeating: "[", count: count) + text + String(repeating: "]", count: count)
            }
            return "a: &a \(nested(inner, "x"))\nb: \(nested(outer, "*a"))\n"
        }
        #expect(try YAMLNode.parse(text(30, 30)) != nil)
        let error = #expect(throws: YAMLError.self) { try YAMLNode.parse(text(40, 40)) }
        #expect(error?.message == "nested more than 64 deep")
    }
}
