import PowerSyncBackend
import PowerSyncWire
import Testing

/// What is known of names that come and go.
struct CatalogKnowledgeTests {
    private static let lists = Catalog.Name(schema: "public", table: "lists")
    private let start = ContinuousClock.now

    private func tables(without columns: Set<String> = [], hasTable: Bool = true) throws -> UploadTables {
        var catalog = Build.catalog
        catalog.tables[Self.lists]?.columns.removeAll { columns.contains($0.name) }
        if !hasTable { catalog.tables[Self.lists] = nil }
        let map = try TableMap(yaml: "tables: { lists: }\n", source: "map")
        return try UploadTables(map: map, source: "map", catalog: catalog, isRunning: true)
    }

    private func absence(_ knowledge: CatalogKnowledge, _ column: String?, after seconds: Int)
        -> CatalogKnowledge.Absence
    {
        knowledge.absence(
            of: CatalogKnowledge.Name(table: "lists", column: column), at: start + .seconds(seconds))
    }

    @Test func aNameThatNeverWasThereIsNoMigration() throws {
        let knowledge = CatalogKnowledge(try tables(), at: start)
        #expect(absence(knowledge, "nobody", after: 5) == .never)
        #expect(
            knowledge.absence(of: CatalogKnowledge.Name(table: "nothing"), at: start) == .never)
    }

    @Test func aNameIsMissingFromTheReadingThatFirstMissedIt() throws {
        var knowledge = CatalogKnowledge(try tables(), at: start)
        knowledge.take(try tables(without: ["n"]), at: start + .seconds(10))
        knowledge.take(try tables(without: ["n", "name"]), at: start + .seconds(40))
        #expect(absence(knowledge, "n", after: 100) == .gone(.seconds(90)))
        #expect(absence(knowledge, "name", after: 100) == .gone(.seconds(60)))
        #expect(knowledge.number == 3)
    }

    @Test func itsReturnEndsThat() throws {
        var knowledge = CatalogKnowledge(try tables(), at: start)
        knowledge.take(try tables(without: ["n"]), at: start + .seconds(10))
        knowledge.take(try tables(), at: start + .seconds(20))
        #expect(knowledge.tables.tables[ExactText("lists")]?.columns[ExactText("n")] != nil)
        knowledge.take(try tables(without: ["n"]), at: start + .seconds(700))
        #expect(
            absence(knowledge, "n", after: 705) == .gone(.seconds(5)),
            "a second migration has a grace of its own")
    }

    @Test func theColumnsOfATableThatIsGoneAreGoneWithIt() throws {
        var knowledge = CatalogKnowledge(try tables(), at: start)
        knowledge.take(try tables(hasTable: false), at: start + .seconds(1))
        #expect(absence(knowledge, nil, after: 2) == .gone(.seconds(1)))
        #expect(absence(knowledge, "name", after: 2) == .gone(.seconds(1)))
        #expect(absence(knowledge, "never", after: 2) == .gone(.seconds(1)))
    }

    @Test func aReadingOfTheSameIsNothingNew() throws {
        var knowledge = CatalogKnowledge(try tables(), at: start)
        knowledge.take(try tables(), at: start + .seconds(30))
        #expect(knowledge.number == 1)
        #expect(knowledge.readAt == start + .seconds(30))
    }
}
