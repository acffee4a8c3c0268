import PowerSyncTestSupport
import Testing

@testable import PowerSync

struct TableValidationTests {
    private func failure(_ table: Table) -> String? {
        do {
            try table.validate()
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func table(_ columns: [Column] = [.text("name")], _ indexes: [Index] = []) -> Table {
        Table(name: "t", columns: columns, indexes: indexes)
    }

    @Test func anOrdinaryTableIsValid() {
        #expect(
            failure(table([.text("name"), .integer("age")], [.ascending(name: "i", column: "age")])) == nil)
    }

    @Test(.behaviour(150)) func columnsAreLimited() {
        #expect(failure(table((0..<63).map { .text("c\($0)") })) == nil)
        #expect(
            failure(table((0..<64).map { .text("c\($0)") })) == #"tooManyColumns(tableName: "t", count: 64)"#)
    }

    @Test(
        .behaviour(151, 154, 156),
        arguments: ["my view", "my'view", "a\"b", "a%", "a,b", "a.b", "a#", "a[", "a]", "a\tb"])
    func forbiddenCharactersInNames(_ name: String) {
        let view = Table(name: "t", columns: [], viewNameOverride: name)
        guard case .failure(let error) = Result(catching: { try view.validate() }),
            case TableError.invalidViewName(name) = error
        else { return #expect(Bool(false), "the view name was accepted") }
        // That of the table is the sync configuration's.
        #expect(failure(Table(name: name, columns: [])) == nil)
        #expect(failure(table([.text(name)]))?.hasPrefix("invalidColumnName") == true)
        #expect(
            failure(table([.text("c")], [.ascending(name: name, column: "c")]))?.hasPrefix("invalidIndexName")
                == true)
    }

    @Test(.behaviour(152, 153)) func columnsAreChecked() {
        #expect(failure(table([.text("id")])) == #"customIdColumn(tableName: "t")"#)
        #expect(
            failure(table([.text("a"), .integer("a")]))
                == #"duplicateColumn(tableName: "t", columnName: "a")"#)
    }

    @Test(.behaviour(155, 157)) func indexesAreChecked() {
        let index = Index.ascending(name: "i", column: "name")
        #expect(
            failure(table([.text("name")], [index, index]))
                == #"duplicateIndex(tableName: "t", indexName: "i")"#)
        #expect(
            failure(table([.text("name")], [.ascending(name: "i", column: "other")]))
                == #"columnNotFound(tableName: "t", columnName: "other", indexName: "i")"#)
    }

    @Test(.behaviour(158, 159)) func localTablesTrackNothing() {
        let metadata = Table(name: "t", columns: [], localOnly: true, trackMetadata: true)
        #expect(failure(metadata) == #"metadataForLocalTable(tableName: "t")"#)
        let previous = Table(
            name: "t", columns: [], localOnly: true, trackMetadata: true,
            trackPreviousValues: TrackPreviousValuesOptions())
        #expect(failure(previous) == #"trackPreviousForLocalTable(tableName: "t")"#)
    }

    @Test func namesAreUniqueInASchema() throws {
        let table = table()
        #expect(throws: SchemaError.self) { try Schema(table, table).validate() }
        let raw = RawTable(name: "raw", schema: RawTableSchema(tableName: "t"))
        #expect(throws: SchemaError.self) { try Schema(table, raw).validate() }
        let unnamed = RawTable(
            name: "t", put: PendingStatement(sql: "", parameters: []),
            delete: PendingStatement(sql: "", parameters: []))
        try Schema(table, unnamed).validate()
    }
}
