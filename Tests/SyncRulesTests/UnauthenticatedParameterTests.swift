import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Which call is told to be one that any client may choose the value of (service 6.11).
struct UnauthenticatedParameterTests {
    private let query = QueryBuilder("notes")

    /// Where it is told.
    private func places(_ condition: Condition) -> [TextRange] {
        query.variants(condition).diagnostics.all.filter { $0.name == .unauthenticatedParameter }.map(\.range)
    }

    private func client(_ column: String, _ key: String = "p") -> (condition: Condition, place: TextRange) {
        let call = query.call(.subscription, key)
        return (query.equal(query.column(column), call), call.site.place)
    }

    @Test func aKeyThatTheClientChoosesIsTold() {
        // W30; a token's gate does not help, W20
        let (condition, place) = client("id")
        #expect(places(condition) == [place])
        let gate = query.equal(query.call(.auth, "role"), query.constant("authenticated"))
        #expect(places(.and([condition, gate])) == [place])
        #expect(query.variants(condition, acceptsDangerousQueries: true).diagnostics.all.isEmpty)
    }

    @Test func aKeyOfTheTokenBesideItHelps() {
        // W19
        let (condition, place) = client("project")
        let token = query.equal(query.column("org"), query.call(.auth, "org"))
        #expect(places(.and([condition, token])).isEmpty)
        // Through a lookup, too, and through a list.
        let users = query.row("users")
        let lookup = Condition.and([
            query.equal(query.column("owner"), query.column(users, "id")),
            query.equal(query.column(users, "team"), query.call(.auth, "team")),
        ])
        #expect(places(.and([condition, lookup])).isEmpty)
        let list = query.equal(query.column("org"), query.element(query.call(.auth, "list")))
        #expect(places(.and([condition, list])).isEmpty)
        // Each term for itself.
        #expect(places(.or([condition, token])) == [place])
    }

    @Test func theFirstInTheOrderOfKeysIsTold() {
        let (first, _) = client("a")
        let (last, place) = client("b")
        #expect(places(.and([first, last])) == [place])
        let list = query.call(.connection, "docs")
        #expect(places(query.equal(query.column("id"), query.element(list))) == [list.site.place])
    }

    @Test func withoutKeysGatesCount() {
        // configurations, 367
        let call = query.call(.subscription, "doc")
        #expect(places(.value(call)) == [call.site.place])
        #expect(places(.and([.value(call), .value(query.user)])).isEmpty)
        // configurations, 938: one gate that holds for either is none of the token
        let either = Condition.or([.value(query.user), .value(call)])
        #expect(places(.and([either, query.isText(query.primary, "a", "x")])) == [call.site.place])
        let list = query.call(.connection, "docs")
        #expect(places(query.equal(query.constant("x"), query.element(list))) == [list.site.place])
    }

    @Test func variantsThatAreMergedAreToldOnce() {
        // mistakes, 1267; 287: the same value in another spelling
        let (first, place) = client("a")
        let (second, _) = client("b")
        #expect(places(.or([first, second])) == [place])
        let spelled = query.member(query.parameters(.subscription), "p")
        #expect(places(.or([first, query.equal(query.column("b"), spelled)])) == [place])
        let (other, otherPlace) = client("b", "q")
        #expect(places(.or([first, other])) == [place, otherPlace])
        // configurations, 1015: with a mistake it is one of its own.
        let mistake = query.opaque(query.column("c"), query.user)
        #expect(places(.or([first, .and([second, mistake])])).count == 2)
    }

    @Test func rowsThatMustBeThereDoNotCount() {
        // configurations, 37 and 946
        let items = query.row("items")
        let gate = query.equal(query.call(.subscription, "doc"), query.column(items, "id"))
        #expect(places(gate).isEmpty)
        let (condition, place) = client("id")
        #expect(places(.and([gate, condition])) == [place])
        let token = query.equal(query.user, query.column(items, "id"))
        #expect(places(.and([token, condition])) == [place])
    }

    @Test func aTermThatCannotBeUsedIsToldOnlyForItsKeys() {
        // configurations, 115 and 193: of a mistake in the row that is synced, or in one that a key leads to, all is
        // told; one in another row ends its term
        let (condition, place) = client("id")
        #expect(places(.and([condition, query.opaque(query.column("a"), query.user)])) == [place])
        let users = query.row("users")
        let mistake = query.opaque(query.column(users, "a"), query.user)
        #expect(places(.and([condition, mistake])).isEmpty)
        let link = query.equal(query.column("x"), query.column(users, "x"))
        #expect(places(.and([condition, mistake, link])) == [place])
        // configurations, 1189: with the request first
        let turned = query.opaque(query.user, query.column(users, "a"))
        #expect(places(.and([condition, turned])).isEmpty)
    }
}
