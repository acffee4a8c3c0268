import PowerSyncSyncRules
import Testing

/// Comments that YAML has made longer than they look: what they take in is told.
struct FoldedCommentTests {
    /// What is told of one query of edition 3, with the part of the text that it is about.
    private func said(_ query: String) -> [String] {
        said(yaml: "config: {edition: 3}\nstreams:\n  s:\n    query: \(query)\n")
    }

    private func said(yaml: String) -> [String] {
        let bytes = Array(yaml.utf8)
        return SyncConfig.compile(yaml).diagnostics.all.map { diagnostic in
            let part = String(decoding: bytes[diagnostic.range.start..<diagnostic.range.end], as: UTF8.self)
            return "\(diagnostic.name.rawValue): \(part)"
        }
    }

    @Test(arguments: [
        ">\n      SELECT * FROM lists -- all of them\n      WHERE owner_id = auth.user_id()",
        ">-\n      SELECT * FROM lists --\n      WHERE owner_id = auth.user_id()",
        ">\n      SELECT * FROM a\n\n      -- First,\n      -- second\n      WHERE owner_id = auth.user_id()",
        "SELECT * FROM lists -- é\n      WHERE owner_id = auth.user_id()",
        "\"SELECT * FROM lists -- \\\"all\\\"\n      WHERE owner_id = auth.user_id()\"",
        "'SELECT * FROM lists -- it''s all\n      WHERE owner_id = auth.user_id()'",
        // A quoted text may go on where its line begins.
        "\"SELECT * FROM lists -- all\nWHERE owner_id = auth.user_id()\"",
        "\"SELECT * FROM lists -- all\r\nWHERE owner_id = auth.user_id()\"",
        "'SELECT * FROM lists --\nWHERE owner_id = auth.user_id()'",
    ])
    func whatACommentTakesInIsTold(_ query: String) throws {
        let said = said(query).filter { $0.hasPrefix("hidden-by-comment") }
        let first = try #require(said.first)
        #expect(said.count == 1)
        #expect(first.hasSuffix("WHERE owner_id = auth.user_id()"))
    }

    @Test(arguments: [
        "|\n      SELECT * FROM lists -- all of them\n      WHERE owner_id = auth.user_id()",
        ">\n      SELECT * FROM lists\n      WHERE owner_id = auth.user_id() -- their own",
        ">\n      SELECT * FROM lists\n      WHERE owner_id = auth.user_id()\n      -- their own,\n      -- and no other",
        ">\n      SELECT * FROM lists -- all of them\n\n      WHERE owner_id = auth.user_id()",
        ">\n      SELECT * FROM lists /* all -- of\n      them */ WHERE owner_id = auth.user_id()",
        ">\n      SELECT * FROM lists WHERE name = '--'\n      AND owner_id = auth.user_id()",
        "\"SELECT * FROM lists -- \\\"all\\\"\\n WHERE owner_id = auth.user_id()\"",
        "SELECT * FROM lists -- all of them",
    ])
    func whatIsNoPartOfACommentIsNot(_ query: String) { #expect(said(query).isEmpty) }

    @Test(arguments: ["\"", "'", ""])
    func aFlowMapGoesOnWhereALineBegins(_ quote: String) {
        let query = "SELECT * FROM lists -- all\nWHERE owner_id = auth.user_id()"
        let yaml = "{config: {edition: 3},\nstreams: {s: {query: \(quote)\(query)\(quote)}}}\n"
        #expect(
            said(yaml: yaml).filter { $0.hasPrefix("hidden-by-comment") } == [
                "hidden-by-comment: WHERE owner_id = auth.user_id()"
            ])
    }

    @Test func olderEditionsAreWarnedToo() {
        let yaml =
            "bucket_definitions:\n  b:\n    data:\n      - >\n        SELECT * FROM lists -- all\n        WHERE public\n"
        #expect(said(yaml: yaml) == ["hidden-by-comment: WHERE public"])
        let alpha =
            "config: {edition: 2}\nstreams:\n  s:\n    query: >\n      SELECT * FROM lists -- all\n      WHERE public\n"
        #expect(said(yaml: alpha).contains("hidden-by-comment: WHERE public"))
    }
}
