import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Which name is meant by one that is not there.
struct NearestNameTests {
    private static func names(_ names: [String]) -> [ExactText] { names.map { ExactText($0) } }

    private static let table: [(String, [String], String?)] = [
        ("descriptionn", ["id", "description"], "description"),
        ("desciptoin", ["description"], nil), ("owner", ["owner_id"], nil),
        ("owner_i", ["owner_id"], "owner_id"), ("owner_idxx", ["owner_id"], "owner_id"),
        // A third of the letters may be others, two at most.
        ("ab", ["ac", "abc"], nil), ("abc", ["abd"], "abd"), ("abc", ["ade"], nil), ("nme", ["name"], "name"),
        ("abcdef", ["abcdgh"], "abcdgh"), ("abcdefghi", ["abcdefxyz"], nil),
        // The nearest, then the first by its bytes.
        ("names", ["nami", "name"], "name"), ("abce", ["abcf", "abcd"], "abcd"),
        ("abcdefg", ["abcdexy", "abcdefx"], "abcdefx"),
        // Capital letters are no other ones; what needs quotes is told with them.
        ("name", ["Name"], "\"Name\""), ("ID", ["id"], "id"), ("usr", ["user"], "\"user\""),
        ("my column", ["my columns"], "\"my columns\""), ("sayy\"", ["say\""], "\"say\"\"\""),
        ("1abc", ["1abd"], "\"1abd\""), ("naïve", ["naive"], "naive"), ("x", [], nil),
        ("", ["a"], nil),
    ]

    @Test(arguments: table)
    func columnsAreFound(_ wrong: String, _ names: [String], _ meant: String?) {
        #expect(NearestName(ExactText(wrong)).column(of: Self.names(names)) == meant)
    }

    @Test func tablesOfOtherSchemasAreNamedWithThem() {
        let schema = SourceSchema(
            [("b", "lists"), ("a", "lists"), ("public", "listz"), ("S", "Items"), ("a", "notes")].map {
                SourceSchema.Table(schema: ExactText($0.0), name: ExactText($0.1), columns: [])
            })
        func meant(_ wrong: String, _ defaultSchema: String = "public") -> String? {
            NearestName(ExactText(wrong)).table(of: schema, default: ExactText(defaultSchema))
        }
        #expect(meant("lists") == "a.lists")
        #expect(meant("listt") == "listz")
        #expect(meant("listt", "b") == "lists")
        #expect(meant("items") == "\"S\".\"Items\"")
        #expect(meant("Notes", "a") == "notes")
        #expect(meant("orders") == nil)
    }

    @Test func adminRoutesDoNotHaveIt() {
        let range = TextRange(start: 3, end: 7)
        let plain = Diagnostic(.columnUnknown, at: range)
        #expect(plain.suggesting(nil) == plain)
        let hinted = plain.suggesting("name")
        #expect(hinted.message == "Column not found. Did you mean name?")
        #expect(hinted.recorded == Recorded(.text("Column not found.", range)))
        #expect(hinted.name == .columnUnknown && hinted.severity == .warning && hinted.range == range)
        let legacy = Diagnostic(.columnNotFound, ["nme"], at: range).suggesting("name")
        #expect(legacy.message == "Column not found: nme. Did you mean name?")
        // What they have otherwise already stays.
        let other = Recorded(.text("x", nil))
        #expect(Diagnostic(.columnUnknown, at: range, recorded: other).suggesting("a").recorded == other)
    }
}
