import PowerSyncContractCases
import PowerSyncWire
import Testing

/// Entries of the catalogue are read as they are meant, or refused with the place of the mistake.
struct ContractReaderTests {
    private func cases(_ yaml: String) throws -> [ContractCase] {
        try ContractCatalogue(files: [("T.yaml", yaml)]).cases
    }

    @Test func anEntryIsReadWhole() throws {
        let entry = try #require(
            try cases(
                """
                - number: 44a
                  title: a title
                  level: L1
                  severity: must
                  security: true
                  needs: [lists, oracle]
                  alone: true
                  backend: {POOL_SIZE: 3}
                  given: [[{op: PUT, table: lists, id: "${l}", data: {name: a}}]]
                  requests:
                    - {as: bob, dialect: A, client: other, times: 2, at_once: true, headers: {x-a: b}, body: {n: 1.10, t: "1.10", e: [null, true]}}
                    - {token: alg-none, session: expired, method: GET, path: /x}
                  expect:
                    - {status: [200, 503], outcomes: [applied|noop X], results: [success], never: [a], within_ms: 50}
                    - {status: [401], may_cut: true, headers: {allow: null}, body: {}}
                  read:
                    - {table: lists, id: "${l}", row: {name: b}, untouched: [created_at]}
                    - {table: lists, id: "${m}", row: null}
                    - {table: lists, id: "${m}", unchanged: true}
                    - {letters: 2, user: bob}
                  later: not yet
                """
            ).first)
        #expect(entry.number.description == "44a")
        #expect(entry.level == .l1)
        #expect(entry.isSecurity)
        #expect(entry.isAlone)
        #expect(entry.needs == ["lists", "oracle"])
        #expect(entry.backend == ["POOL_SIZE": "3"])
        #expect(entry.later == "not yet")
        #expect(entry.given.first?.first?["data"]?["name"] == .string("a"))
        let (first, second) = (entry.requests[0], entry.requests[1])
        #expect(first.user == "bob" && first.client == "other" && first.dialect == .batch)
        #expect(first.times == 2 && first.isAtOnce)
        #expect(first.content == .json(try JSON.parse(#"{"n":1.10,"t":"1.10","e":[null,true]}"#)))
        #expect(second.token == .unsigned && second.session == .expired)
        #expect(second.method == "GET" && second.path == "/x")
        #expect(entry.expectations[0].statuses == [200, 503])
        #expect(entry.expectations[0].within == .milliseconds(50))
        #expect(entry.expectations[1].mayCut)
        #expect(entry.readings.count == 4)
        guard case .letters(2, user: "bob") = entry.readings[3] else {
            Issue.record("\(entry.readings[3])")
            return
        }
    }

    @Test func oneExpectationIsThatOfAllRequests() throws {
        let entry = try #require(
            try cases(
                """
                - number: 5
                  title: t
                  level: L0
                  severity: must
                  requests: [{text: "[]"}, {text: "{}"}]
                  expect: {status: [400]}
                """
            ).first)
        #expect(entry.expectations.map(\.statuses) == [[400], [400]])
    }

    private static let good =
        "- {number: 1, title: t, level: L0, severity: must, request: {}, expect: {status: [200]}}"

    @Test(arguments: [
        ("number: 1", "number: 01", "number: expected"),
        ("level: L0", "level: L3", "L3 is none of the words"),
        ("severity: must", "severity: should, security: true", "what is about security is a must"),
        ("severity: must", "severity: must, flavour: sweet", "unknown member"),
        ("title: t, ", "", "title is missing"),
        ("request: {}", "request: {}, requests: []", "expected request or requests"),
        ("request: {}", "request: {body: {}, text: a}", "a second body"),
        ("request: {}", "request: {token: golden}", "golden is none of the words"),
        ("request: {}", "request: {times: 0}", "a number of at least 1"),
        ("request: {}", "requests: [{}, {}]", ""),
        ("expect: {status: [200]}", "expect: [{}, {}]", "one for each of the requests"),
        ("request: {}", "driver: swift, request: {}", "not beside driver"),
        ("request: {}", "test: A.b, request: {}", "only with driver"),
        ("expect: {status: [200]}", "expect: {}, read: [{table: a, id: b}]", "expected row or unchanged"),
    ])
    func whatIsWrongIsToldWithItsPlace(part: String, replacement: String, message: String) throws {
        let yaml = Self.good.replacing(part, with: replacement)
        guard !message.isEmpty else {
            #expect(try cases(yaml).count == 1)
            return
        }
        let error = try #require(throws: ContractError.self) { try cases(yaml) }
        #expect(error.code == .catalogue)
        #expect(error.message.contains(message), "\(error)")
        #expect(error.message.hasPrefix("T.yaml line "), "\(error)")
    }

    @Test func aNumberStandsOnce() throws {
        let error = try #require(throws: ContractError.self) { try cases(Self.good + "\n" + Self.good) }
        #expect(error.message.contains("1 stands twice"))
    }

    @Test func fixturesSayWhatATeamCallsThings() throws {
        let fixtures = try ContractFixtures(
            yaml: """
                tables:
                  lists: {name: app_lists, relation: app.lists, id: list_id, columns: {name: title}, stored: {title: t}}
                  docs:
                paths: {token: /token}
                letters: SELECT 1
                """, source: "F.yaml")
        let lists = try #require(fixtures.tables["lists"])
        #expect(lists.name == "app_lists" && lists.relation == "app.lists" && lists.id == "list_id")
        #expect(lists.columns == ["name": "title"] && lists.stored == ["title": "t"])
        #expect(fixtures.tables["docs"]?.relation == "docs")
        #expect(fixtures.paths["token"] == "/token" && fixtures.paths["upload"] == "/api/data")
        #expect(fixtures.letters == "SELECT 1")
        #expect(throws: ContractError.self) {
            try ContractFixtures(yaml: "tables: {a: {nome: b}}", source: "F.yaml")
        }
    }

    @Test(arguments: [
        (["applied"], ["applied"], true), (["noop ROW_MISSING"], ["noop"], true),
        (["noop ROW_MISSING"], ["noop NO_CHANGES"], false), (["adjusted"], ["applied|adjusted"], true),
        (["rejected A"], ["rejected B|rejected A"], true), (["rejected AB"], ["rejected A"], false),
        (["applied"], ["applied", "applied"], false), ([], ["applied"], false), (["noopy"], ["noop"], false),
    ])
    func anOutcomeIsOneOfThoseWanted(outcomes: [String], wanted: [String], fits: Bool) {
        #expect(OutcomeDemand.fits(outcomes, wanted) == fits)
    }

    @Test func codesAreAskedOfWhatMustBeRejected() {
        let wanted = ["skipped", "rejected A|rejected B", "applied|rejected C"]
        #expect(OutcomeDemand.codes(wanted) == [["A", "B"]])
    }
}
