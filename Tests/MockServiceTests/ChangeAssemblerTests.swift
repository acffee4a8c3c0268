import PowerSyncMockService
import PowerSyncPostgres
import Testing

struct ChangeAssemblerTests {
    private func short(_ events: [ReplicationEvent]) -> [String] {
        events.map { event in
            switch event {
            case .change(let table, .insert(let tuple)):
                "insert \(table.description.name) \(tuple.first?.text ?? "")"
            case .change(let table, .update): "update \(table.description.name)"
            case .change(let table, .delete): "delete \(table.description.name)"
            case .change(let table, .snapshot): "snapshot \(table.description.name)"
            case .truncate(let table): "truncate \(table.description.name)"
            case .committed(let lsn): "committed \(lsn)"
            }
        }
    }

    private func table(_ name: String, oid: UInt32) async throws -> SourceTable {
        let store = try await ServiceStore.open(path: ":memory:", readers: 0)
        let config = try SyncConfigReader.compile(
            "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t}}")
        let context = EvaluationContext(stream: 1, config: config)
        let description = TableDescription(
            oid: oid, schema: "public", name: name,
            columns: [SourceColumn(name: "id", typeOID: 25, isIdentity: true)])
        defer { Task { await store.close() } }
        return try await store.resolve(description, types: TypeCatalog(), context)
    }

    private func lsn(_ value: UInt64) -> LSN { LSN(rawValue: value) }

    @Test func collectsWholeTransactionsOfTheTablesThatMatter() async throws {
        var assembler = ChangeAssembler(appliedLSN: .zero)
        #expect(assembler.handle(.begin(finalLSN: lsn(10), commitTime: 0, transactionID: 1)) == nil)
        #expect(assembler.isInTransaction)
        let relation = PgOutputRelation(
            oid: 1, namespace: "public", name: "t", identity: .primaryKey, columns: [])
        #expect(assembler.handle(.relation(relation)) == nil)
        #expect(assembler.handle(.insert(relation: 1, new: [.text("a")])) == .table(relation))
        assembler.set(try await table("t", oid: 1), for: 1)
        assembler.set(nil, for: 2)
        #expect(assembler.handle(.insert(relation: 1, new: [.text("a")])) == nil)
        _ = assembler.handle(.insert(relation: 2, new: [.text("b")]))
        _ = assembler.handle(.insert(relation: 3, new: [.text("c")]))
        _ = assembler.handle(.message(isTransactional: true, lsn: lsn(9), prefix: "powersync", content: []))
        _ = assembler.handle(.truncate(relations: [2, 1], options: 0))
        _ = assembler.handle(.commit(commitLSN: lsn(10), endLSN: lsn(12), commitTime: 0))
        #expect(!assembler.isInTransaction)
        #expect(short(assembler.takeEvents()) == ["insert t a", "truncate t", "committed 0/C"])
        #expect(assembler.events.isEmpty)
    }

    @Test func skipsWhatWasAppliedBefore() async throws {
        var assembler = ChangeAssembler(appliedLSN: lsn(12))
        assembler.set(try await table("t", oid: 1), for: 1)
        for (commit, name) in [(5, "old"), (10, "last"), (12, "next")] as [(UInt64, String)] {
            _ = assembler.handle(.begin(finalLSN: lsn(commit), commitTime: 0, transactionID: 1))
            _ = assembler.handle(.insert(relation: 1, new: [.text(name)]))
            _ = assembler.handle(.truncate(relations: [1], options: 0))
            _ = assembler.handle(.commit(commitLSN: lsn(commit), endLSN: lsn(commit + 2), commitTime: 0))
        }
        #expect(short(assembler.takeEvents()) == ["insert t next", "truncate t", "committed 0/E"])
    }

    /// Postgres says each relation once a connection, also in a transaction that is repeated.
    @Test func aRelationOfARepeatedTransactionIsLookedUpForTheFirstChangeThatCounts() async throws {
        var assembler = ChangeAssembler(appliedLSN: lsn(12))
        let old = PgOutputRelation(oid: 1, namespace: "public", name: "t", identity: .full, columns: [])
        let new = PgOutputRelation(oid: 1, namespace: "public", name: "t", identity: .primaryKey, columns: [])
        for (commit, relation) in [(5, old), (10, new)] as [(UInt64, PgOutputRelation)] {
            #expect(assembler.handle(.begin(finalLSN: lsn(commit), commitTime: 0, transactionID: 1)) == nil)
            #expect(assembler.handle(.relation(relation)) == nil)
            #expect(assembler.handle(.insert(relation: 1, new: [.text("old")])) == nil)
            #expect(assembler.handle(.truncate(relations: [1], options: 0)) == nil)
            #expect(
                assembler.handle(.commit(commitLSN: lsn(commit), endLSN: lsn(commit + 2), commitTime: 0))
                    == nil)
        }
        #expect(assembler.handle(.begin(finalLSN: lsn(20), commitTime: 0, transactionID: 2)) == nil)
        #expect(assembler.handle(.insert(relation: 1, new: [.text("new")])) == .table(new))
        assembler.set(try await table("t", oid: 1), for: 1)
        #expect(assembler.handle(.insert(relation: 1, new: [.text("new")])) == nil)
        #expect(short(assembler.takeEvents()) == ["insert t new"])
    }

    @Test func isFullByCountAndBySize() async throws {
        var assembler = ChangeAssembler(appliedLSN: .zero)
        assembler.set(try await table("t", oid: 1), for: 1)
        _ = assembler.handle(.begin(finalLSN: lsn(10), commitTime: 0, transactionID: 1))
        for _ in 0..<1999 { _ = assembler.handle(.insert(relation: 1, new: [.text("a")])) }
        #expect(!assembler.isFull)
        _ = assembler.handle(.insert(relation: 1, new: [.text("a")]))
        #expect(assembler.isFull)
        _ = assembler.takeEvents()
        #expect(!assembler.isFull)
        _ = assembler.handle(.insert(relation: 1, new: [.text(String(repeating: "x", count: 5 << 20))]))
        #expect(assembler.isFull)
    }

    @Test func putsComeBeforeTheRemovesOfPlacesThatWereLeft() {
        let a = RowEntry(bucket: 1, type: "t", id: "1")
        let b = RowEntry(bucket: 2, type: "t", id: "1")
        let c = RowEntry(bucket: 1, type: "t", id: "2")
        let plan = RowChangePlan.update(from: [a, b], to: [(b, "{}"), (c, "{2}"), (b, "{3}")])
        #expect(plan.steps == [.put(b, data: "{}"), .put(c, data: "{2}"), .put(b, data: "{3}"), .remove(a)])
        #expect(plan.entries == [b, c])
        #expect(RowChangePlan.update(from: [a, b], to: []).steps == [.remove(a), .remove(b)])
    }
}
