import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What operations of one shape have in common is found once, and changes nothing.
@Suite(.namesSeed)
struct PlanShapeTests {
    private static let subject = "0f8fad5b-d9cb-469f-a165-70867728950e"
    private static let maps = [
        "tables: { lists: }\n",
        """
        tables:
          lists:
            owner: owner_id
            parents: { made: lists }
            columns: { secret: { write: never }, doc: { write: server }, at: { set: now } }
          things: { table: app.things, id: thing_id, owner: thing_id }
        """,
        "tables: { lists: { ops: [PUT, PATCH], owner: n, columns: { owner_id: { set: subject } } } }\n",
    ]

    private static func operation(_ random: inout SeededRandom) -> UploadOperation {
        let kinds: [UploadOperationKind] = [.put, .put, .patch, .delete]
        let id = random.pick(["a", "b", "", subject, subject.uppercased(), "x\u{e9}"])
        let names = [
            "id", "thing_id", "name", "owner_id", "n", "body", "at", "price", "sum", "secret", "made",
            "title",
            "rank", "doc", "unknown", "na\u{308}me",
        ]
        var members: [JSONMember] = []
        for _ in 0..<random.below(6) {
            members.append(JSONMember(random.pick(names), value(&random, id)))
        }
        return UploadOperation(
            kind: random.pick(kinds), table: random.pick(["lists", "lists", "things", "Lists"]), id: id,
            data: random.once(in: 12) ? nil : members)
    }

    private static func value(_ random: inout SeededRandom, _ id: String) -> JSON {
        let values: [JSON] = [
            .null, .string(id), .string("x"), .string(subject), .number("1"), .number("1.005"), .bool(true),
            .string("2025-01-01"), .string("a\0b"), .array([.number("1")]), .string("many"),
        ]
        return random.pick(values)
    }

    /// What a planner says of an operation, the refusal included.
    private static func said(
        _ operation: UploadOperation, _ plan: (UploadOperation) throws -> FormerPlan
    ) -> Result<FormerPlan, Refusal> {
        do {
            return .success(try plan(operation))
        } catch let refusal as Refusal {
            return .failure(refusal)
        } catch {
            return .failure(Refusal(code: "ANOTHER", message: "\(error)"))
        }
    }

    @Test func plansAreThoseOfEachOperationAlone() async throws {
        for map in Self.maps {
            let tables = try Build.tables(map)
            for subject in [Self.subject, "7", "somebody"] {
                let shared = PlanShapes(tables)
                let former = FormerPlanner(tables: tables, subject: subject)
                try await forEachSeed(120) { random in
                    let planner = UploadPlanner(shapes: shared, subject: subject)
                    var last: PlanShape?
                    func following(_ operation: UploadOperation, _ index: Int) -> Result<FormerPlan, Refusal>
                    {
                        Self.said(operation) {
                            let plan = try planner.plan($0, at: index, like: last)
                            last = plan.shape
                            return FormerPlan(plan)
                        }
                    }
                    for index in 0..<8 {
                        let operation = Self.operation(&random)
                        let now = Self.said(operation) { FormerPlan(try planner.plan($0, at: index)) }
                        let before = Self.said(operation) { try former.plan($0, at: index) }
                        #expect(now == before, "\(operation.json.text)")
                        let fresh = UploadPlanner(tables: tables, subject: subject)
                        let alone = Self.said(operation) { FormerPlan(try fresh.plan($0, at: index)) }
                        #expect(now == alone, "\(operation.json.text)")
                        #expect(following(operation, index) == now, "\(operation.json.text)")
                        // Another row of the same shape, mostly.
                        var twin = operation
                        twin.data = operation.data?.map { JSONMember($0.name, Self.value(&random, "b")) }
                        if random.once(in: 4) { twin.data?.append(JSONMember("name", .null)) }
                        let ofTwin = Self.said(twin) { try former.plan($0, at: index) }
                        #expect(following(twin, index) == ofTwin, "\(twin.json.text)")
                    }
                }
            }
        }
    }

    @Test func neverMoreThanAThousandAreKept() throws {
        let shapes = PlanShapes(try Build.tables("tables: { lists: }\n"))
        let names = ["name", "owner_id", "n", "at", "price", "made", "secret", "tags", "body"]
        var known: [PlanShape] = []
        // Each order of the names is a shape: of nine far more than are kept.
        var random = SeededRandom(seed: 4)
        for _ in 0..<5_000 {
            let data = names.shuffled(using: &random).map { JSONMember($0, .null) }
            let operation = UploadOperation(kind: .put, table: "lists", id: "a", data: data)
            let shape = try shapes.shape(of: operation)
            #expect(try shapes.shape(of: operation) === shape, "it is found again")
            known.append(shape)
        }
        #expect(shapes.count <= 1_024)
        #expect(Set(known).count == 1, "to the database they are one")
    }

    /// A client may send any names, and one of them any number of times.
    @Test func whatAClientMakesUpIsNotKept() throws {
        let shapes = PlanShapes(try Build.tables("tables: { lists: }\n"))
        for number in 0..<100 {
            let data = [JSONMember("made up \(number)", .null)]
            _ = try shapes.shape(of: UploadOperation(kind: .put, table: "lists", id: "a", data: data))
            let again = Array(repeating: JSONMember("name", .null), count: 300 + number)
            _ = try shapes.shape(of: UploadOperation(kind: .put, table: "lists", id: "a", data: again))
        }
        #expect(shapes.count == 0)
    }

    @Test func spellingsOfOneNameAreTwoShapes() throws {
        var catalog = Build.catalog
        var table = Catalog.Table()
        table.columns = ["id", "\u{e9}", "e\u{301}"].map {
            Catalog.Column(name: $0, type: "text", typeOID: 25)
        }
        table.uniqueColumns = [ExactText("id")]
        catalog.tables[Catalog.Name(schema: "public", table: "lists")] = table
        catalog.published = [Catalog.Name(schema: "public", table: "lists")]
        let planner = UploadPlanner(tables: try UploadTables(openSchemaOf: catalog), subject: "u")
        for name in ["\u{e9}", "e\u{301}", "\u{e9}"] {
            let operation = UploadOperation(
                kind: .put, table: "lists", id: "a", data: [JSONMember(name, .string("x"))])
            let plan = try planner.plan(operation, at: 0)
            #expect(plan.columns.map { Array($0.name.utf8) } == [Array(name.utf8)])
        }
    }
}
