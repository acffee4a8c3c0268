import PowerSyncSyncRules
import Testing

/// What may help stands behind the message, for command and log alone.
struct HintTests {
    private func first(_ text: String) throws -> (placed: PlacedDiagnostic, recorded: String?) {
        let config = SyncConfig.compile(text)
        let placed = try #require(PlacedDiagnostic.all(of: config).first)
        let own = config.diagnostics.all.first { $0.isShown && $0.name == placed.name }
        return (placed, own?.asRecorded?.message)
    }

    @Test(arguments: [
        ("lowr(name)", "Did you mean lower?"), ("coalesce(name, id)", "Write ifnull(a, b)."),
        ("now()", "when a row changes"), ("random()", "when a row changes"),
        ("count(*)", "compute this in the client"),
        ("auth.userid()", "Did you mean auth.user_id?"), ("auth.user_id", "Write auth.user_id()"),
    ])
    func whatIsMeantByAnExpressionIsSaid(_ expression: String, _ hint: String) throws {
        let text =
            "config: {edition: 3}\nstreams:\n  a: {query: 'SELECT id, \(expression) AS x FROM lists'}\n"
        let found = try first(text)
        #expect(found.placed.message.contains(hint), "\(found.placed.message)")
        #expect(found.recorded?.contains(hint) == false)
    }

    @Test func existsIsSaidOtherwise() throws {
        let found = try first(
            "config: {edition: 3}\nstreams:\n  a: {query: 'SELECT * FROM lists WHERE EXISTS (SELECT id FROM users)'}\n"
        )
        #expect(found.placed.message.contains("Write IN (SELECT …)"), "\(found.placed.message)")
    }

    @Test func aUnionIsSeveralQueries() throws {
        let found = try first(
            "config: {edition: 3}\nstreams:\n  a: {query: 'SELECT * FROM lists UNION SELECT * FROM todos'}\n")
        #expect(found.placed.message.hasSuffix("as a query of its own, in `queries`."))
        #expect(found.recorded == "Expected a SELECT statement")
    }

    @Test(arguments: [
        ("id NOT IN (SELECT list FROM hidden)", "IN (SELECT …) cannot stand behind NOT"),
        ("NOT (id IN (SELECT list FROM hidden))", "IN (SELECT …) cannot stand behind NOT"),
        ("id NOT IN mine", "IN (SELECT …) cannot stand behind NOT"),
        ("id IN (SELECT a FROM x UNION SELECT b FROM y)", "x IN (SELECT …) OR x IN (SELECT …)"),
    ])
    func aSubSelectIsSaidOtherwise(_ condition: String, _ hint: String) throws {
        let queries = "['SELECT * FROM lists WHERE \(condition)', 'SELECT * FROM b WHERE id IN mine']"
        let found = try first(
            "config: {edition: 3}\nwith: {mine: SELECT list FROM members}\n"
                + "streams:\n  a: {queries: \(queries)}\n")
        #expect(found.placed.severity == .fatal)
        #expect(found.placed.message.contains(hint), "\(found.placed.message)")
        #expect(found.recorded?.contains(hint) == false)
    }

    /// Two tables of FROM are no sub-select.
    @Test func whatComparesTablesHasNoHint() throws {
        let query = #"SELECT l.* FROM lists AS "l", b WHERE l.id != b.list"#
        let found = try first("config: {edition: 3}\nstreams:\n  a: {query: '\(query)'}\n")
        #expect(found.placed.name == .mixesRowRow && found.placed.message.hasSuffix("an equals operator."))
    }

    @Test func aUnionOfFromIsSeveralQueries() throws {
        let union = "SELECT id FROM lists UNION SELECT id FROM todos"
        let query = "SELECT t.* FROM t, (\(union)) AS u WHERE t.id = u.id"
        let config = SyncConfig.compile("config: {edition: 3}\nstreams:\n  a: {query: '\(query)'}\n")
        let found = try #require(config.diagnostics.all.first { $0.name == .notASelect })
        #expect(found.message.hasSuffix("as a query of its own, in `queries`."))
        #expect(found.asRecorded?.message == "Expected a SELECT statement")
    }

    @Test func aKeyThatIsNearlyRightIsKnown() throws {
        let found = try first(
            "config: {edition: 3}\nstreams:\n  a: {auto_subscibe: true, query: SELECT * FROM t}\n")
        #expect(found.placed.message == "Unknown key 'auto_subscibe'. Did you mean 'auto_subscribe'?")
        #expect(found.recorded == "Unknown key 'auto_subscibe'.")
    }

    /// The admin routes keep the line; command and log have the place where the parser gave up.
    @Test func whatIsNoYAMLHasItsColumn() throws {
        let text = "config:\n  edition: 3\nstreams:\n  a:\n    query: SELECT a: b\n"
        let config = SyncConfig.compile(text)
        let found = try #require(PlacedDiagnostic.all(of: config).first)
        #expect(found.start.line == 5 && found.start.column == 20)
        #expect(found.message.hasSuffix("Put a query in quotes, or behind | on lines of its own."))
        let recorded = try #require(config.diagnostics.all.first?.asRecorded)
        #expect(!recorded.message.contains("Put a query"))
        #expect(recorded.range == SourceText(text).line(around: text.utf8.count - 3))
        let tab = SyncConfig.compile("config:\n\tedition: 3\n")
        #expect(PlacedDiagnostic.all(of: tab).first?.message.hasSuffix("It is a tab: write spaces.") == true)
    }
}
