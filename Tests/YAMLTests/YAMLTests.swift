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
}
