import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Random histories of a client against two backends on one database, compared with a model of what the ledger promises.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .namesSeed)
struct LedgerHistoryTests {
    /// One operation: the same number with another version is what a copied device sends.
    struct Operation: Hashable {
        let number: Int
        let version: Int
        let isBad: Bool

        var name: String { (isBad ? "bad" : "n") + "\(number).\(version)" }
        var json: String {
            #"{"op_id":\#(number),"op":"PUT","table":"lists","id":"r\#(number)","data":{"name":"\#(name)"}}"#
        }
    }

    /// What the ledger promises (backend 3.5).
    struct Model: Hashable {
        private(set) var applied: [Operation: Int] = [:]
        private var rejected: [Operation: String] = [:]

        /// Applies a transaction.
        ///
        /// - Returns: the state of each operation.
        mutating func apply(_ operations: [Operation]) -> [String] {
            let fresh = operations.filter { applied[$0] == nil && rejected[$0] == nil }
            let known = operations.map { operation in
                applied[operation] != nil ? "replayed" : rejected[operation]
            }
            let culprit = fresh.first(where: \.isBad)
            for operation in fresh {
                if culprit == nil {
                    applied[operation, default: 0] += 1
                } else {
                    rejected[operation] = operation == culprit ? "rejected" : "skipped"
                }
            }
            return zip(operations, known).map { operation, known in
                known ?? rejected[operation] ?? "applied"
            }
        }
    }

    private static let schema = """
        CREATE TABLE lists (id text PRIMARY KEY, name text NOT NULL CHECK (name NOT LIKE 'bad%'));
        CREATE TABLE writes (name text);
        CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO writes VALUES (NEW.name); RETURN NEW; END $$;
        CREATE TRIGGER counts AFTER INSERT OR UPDATE ON lists FOR EACH ROW EXECUTE FUNCTION count_write();
        CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
        """

    private static func body(_ transactions: [[Operation]], _ client: String) -> String {
        let list = transactions.map { #"{"crud":[\#($0.map(\.json).joined(separator: ","))]}"# }
        return #"{"v":1,"client_id":"\#(client)","transactions":[\#(list.joined(separator: ","))]}"#
    }

    /// A stretch of a queue, cut into transactions at random places.
    private static func request(_ random: inout SeededRandom, _ bad: Set<Int>) -> [[Operation]] {
        let start = Int.random(in: 1...9, using: &random)
        let length = Int.random(in: 1...6, using: &random)
        let version = Int.random(in: 0...4, using: &random) == 0 ? 1 : 0
        var transactions: [[Operation]] = [[]]
        for number in start..<(start + length) {
            // A hole now and then: what a client left out.
            if Int.random(in: 0...7, using: &random) == 0 { continue }
            if !transactions[transactions.count - 1].isEmpty, Bool.random(using: &random) {
                transactions.append([])
            }
            transactions[transactions.count - 1].append(
                Operation(number: number, version: version, isBad: bad.contains(number)))
        }
        return transactions.filter { !$0.isEmpty }
    }

    private static func states(_ answer: TestBackend.Answer) -> [[String]] {
        (answer.json["results"]?.arrayValue ?? []).map { result in
            (result["ops"]?.arrayValue ?? []).compactMap { $0["status"]?.stringValue }
        }
    }

    /// All ways in which the transactions of two requests can follow each other.
    private static func orders(
        _ left: ArraySlice<[Operation]>, _ right: ArraySlice<[Operation]>, _ model: Model
    ) -> [(model: Model, left: [[String]], right: [[String]])] {
        if left.isEmpty && right.isEmpty { return [(model, [], [])] }
        var found: [(model: Model, left: [[String]], right: [[String]])] = []
        if let first = left.first {
            var next = model
            let states = next.apply(first)
            found += orders(left.dropFirst(), right, next).map { ($0.model, [states] + $0.left, $0.right) }
        }
        if let first = right.first {
            var next = model
            let states = next.apply(first)
            found += orders(left, right.dropFirst(), next).map { ($0.model, $0.left, [states] + $0.right) }
        }
        return found
    }

    @Test func everyOperationIsAppliedOnceAndEveryAnswerIsTheModels() async throws {
        let histories = TestOptions.number("POWERSYNC_LEDGER_HISTORIES", standard: 100)
        try await TestBackend.with(schema: Self.schema, { $0.continuesAfterFatalError = true }) { one in
            try await TestBackend.with(
                schema: "SELECT 1", uri: one.uri, { $0.continuesAfterFatalError = true }
            ) { two in
                let tokens = (try await one.token(), try await two.token())
                @Sendable func upload(_ backend: TestBackend, _ token: String, _ body: String) async throws
                    -> TestBackend.Answer
                {
                    try await backend.send(
                        "POST", "/api/v1/upload", body, fields: ["authorization": "Bearer \(token)"])
                }
                try await forEachSeed(histories) { random in
                    let client = "client \(random.seed)"
                    _ = try await one.query("TRUNCATE lists, writes")
                    var model = Model()
                    let bad = Set(
                        (0..<Int.random(in: 0...2, using: &random)).map { _ in
                            Int.random(in: 1...12, using: &random)
                        })
                    for _ in 0..<6 {
                        let left = Self.request(&random, bad)
                        guard !left.isEmpty else { continue }
                        // The other backend gets the same at once, or another grouping, or nothing.
                        let kind = Int.random(in: 0...3, using: &random)
                        let right = kind == 0 ? [] : kind == 1 ? left : Self.request(&random, bad)
                        async let first = upload(one, tokens.0, Self.body(left, client))
                        var second: TestBackend.Answer?
                        if !right.isEmpty {
                            second = try await upload(two, tokens.1, Self.body(right, client))
                        }
                        let answer = try await first
                        try #require(answer.status == 200 && (second?.status ?? 200) == 200)
                        let seen = (Self.states(answer), second.map(Self.states) ?? [])
                        let order = Self.orders(left[...], right[...], model).first {
                            $0.left == seen.0 && $0.right == seen.1
                        }
                        model = try #require(order, "no order of \(left) and \(right) gives \(seen)").model
                    }
                    let writes = try await one.query(
                        "SELECT name, count(*)::text FROM writes GROUP BY name ORDER BY name")
                    let expected = model.applied.sorted { $0.key.name < $1.key.name }.map {
                        [$0.key.name, String($0.value)] as [String?]
                    }
                    #expect(writes == expected)
                }
                let consulted = (one.lines.withLock { $0 } + two.lines.withLock { $0 }).count {
                    $0.contains("the ledger is consulted")
                }
                #expect(consulted > histories, "claims must really collide")
            }
        }
    }
}
