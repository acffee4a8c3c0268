import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// What is told of conditions that no bucket can come of, and where (service 6.11).
struct FactorTests {
    private let query = QueryBuilder("items")

    private func told(_ conditions: Condition...) -> [Diagnostic] {
        query.variants(.and(conditions), acceptsDangerousQueries: true).diagnostics.all
    }

    private func expect(
        _ told: [Diagnostic], _ name: DiagnosticName, at value: Located,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(told.map(\.name) == [name], sourceLocation: sourceLocation)
        #expect(told.first?.range == value.site.place, sourceLocation: sourceLocation)
    }

    @Test func aRowIsNotComparedWithTheRequestOtherwise() {
        let user = query.user
        expect(told(query.opaque(query.column("doc"), user)), .mixesRowRequest, at: user)
        let negated = query.user
        expect(told(.not(query.equal(query.column("doc"), negated))), .mixesRowRequest, at: negated)
        let column = query.column("doc")
        expect(told(.not(query.equal(query.user, column))), .mixesRequestRow, at: column)
    }

    @Test func aRowIsNotComparedWithAnotherOtherwise() throws {
        // configurations, 11 and 67
        let users = query.row("users")
        let column = query.column(users, "id")
        let all = told(.not(query.equal(query.column("doc"), column)))
        expect(all, .mixesRowRow, at: column)
        #expect(all.first?.message.contains("already references 'items'") == true)
        let element = query.element(query.call(.connection, "docs"))
        let list = told(.not(query.equal(query.column(users, "id"), element)))
        expect(list, .mixesRowRow, at: element)
        // A side that mixes is told once, whatever the other one is.
        let third = query.column(users, "a")
        let side = query.opaque(query.column("b"), third)
        guard case .value(let mixed) = side else {
            Issue.record("This is no value.")
            return
        }
        expect(told(query.equal(mixed, query.user)), .mixesRowRow, at: third)
    }

    @Test func eachSideIsJudgedByItself() {
        // validation-messages, 16
        let key = query.column("name")
        guard case .value(let mixed) = query.opaque(query.user, key) else {
            Issue.record("This is no value.")
            return
        }
        expect(told(query.equal(query.column("doc"), mixed)), .mixesRequestRow, at: key)
        // mistakes, 123: each place that does not go with the first thing is told.
        let columns = [query.column("role"), query.column("id")]
        guard case .value(let twice) = query.opaque(query.user, columns[0], columns[1]) else {
            Issue.record("This is no value.")
            return
        }
        let all = told(query.equal(twice, query.user))
        #expect(all.map(\.name) == [.mixesRequestRow, .mixesRequestRow])
        #expect(all.map(\.range) == columns.map(\.site.place))
    }

    @Test func twoArraysOfARowAreTwoThings() {
        // expressions, 206 and 183: of the row and of a constant, too
        let second = query.element(query.column("b"))
        expect(told(query.opaque(query.element(query.column("a")), second)), .mixesRowRow, at: second)
        let constant = query.element(query.constant("[1]"))
        let own = query.element(query.column("a"))
        expect(told(query.opaque(own, constant)), .mixesRowRow, at: constant)
        // expressions, 840: an array and the row are one, whichever comes first
        #expect(told(query.opaque(query.column("f"), query.element(query.column("j")))).isEmpty)
        #expect(told(query.opaque(query.element(query.column("j")), query.column("f"))).isEmpty)
        let outer = query.element(query.column("j"))
        #expect(told(query.opaque(outer, query.element(outer))).isEmpty)
        // expressions, 377
        let same = query.equal(query.element(query.column("j")), query.element(query.column("j")))
        #expect(told(same).map(\.name) == [.unassociatedFilter])
    }

    @Test func anArrayOfTheRequestIsNotMatchedToTheRequest() {
        // configurations, 62
        let list = query.call(.auth, "list")
        let element = query.element(list)
        expect(told(query.equal(element, query.user)), .requestTablePartitioned, at: list)
        let link = query.equal(query.column("id"), element)
        expect(told(link, query.equal(element, query.user)), .requestTablePartitioned, at: list)
        // Told once a term.
        expect(
            told(query.equal(element, query.user), query.equal(element, query.call(.auth, "x"))),
            .requestTablePartitioned, at: list)
        #expect(told(link, query.equal(query.column("doc"), element)).isEmpty)
        let users = query.row("users")
        let further = query.equal(query.column(users, "id"), element)
        expect(told(link, further), .requestTablePartitioned, at: list)
        // mistakes, 835: in FROM also one that reads nothing
        let constant = query.element(query.constant("[1]"), isInFrom: true)
        #expect(told(query.equal(constant, query.user)).map(\.name) == [.requestTablePartitioned])
    }

    @Test func aMatchThatNothingLeadsToIsTold() {
        // mistakes, 898
        let users = query.row("users")
        let teams = query.row("teams")
        let rows = query.equal(query.column(users, "id"), query.column(teams, "lead"))
        let list = query.equal(query.column(users, "id"), query.element(query.call(.auth, "list")))
        #expect(told(rows, list).map(\.name) == [.unassociatedFilter, .unassociatedFilter])
        // What is asked of one of the rows leads to it.
        #expect(told(rows, query.equal(query.column(teams, "id"), query.user)).isEmpty)
        #expect(told(list, query.isText(users, "role", "x")).isEmpty)
    }

    @Test func eachTermTellsItsMistakes() {
        // configurations, 193 and 321
        let user = query.user
        let mistake = query.opaque(query.column("id"), user)
        let either = Condition.or([
            query.equal(query.column("a"), query.user), query.equal(query.column("b"), query.user),
        ])
        #expect(told(mistake, either).map(\.range) == [user.site.place, user.site.place])
    }

    @Test func whatStandsInACommonTableExpressionIsPlacedThereAndAsRecorded() throws {
        // configurations, 85: its offsets in the text of the query that names it
        let table = QueryBuilder("teams", at: 100)
        let inner = query.row("teams")
        let site = table.place()
        let column = Located(
            .column(inner, ExactText("id")), at: site, references: [Reference(inner, at: site)])
        let list = query.variants(.not(query.equal(query.column("id"), column))).diagnostics.all
        let diagnostic = try #require(list.first)
        #expect(diagnostic.name == .mixesRowRow && diagnostic.range == site.place)
        #expect(
            diagnostic.recorded
                == Recorded(.text(diagnostic.message, query.text.range(site.range))))
    }
}
