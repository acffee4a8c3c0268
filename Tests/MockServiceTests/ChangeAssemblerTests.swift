import PowerSyncMockService
import PowerSyncPostgres
import Testing

struct ChangeAssemblerTests {
    private func short(_ events: [ReplicationEvent]) -> [String] {
        events.map { event in
            switch event {
            case .change(let table, .insert(let tuple)):
                "insert \(table.description.name) \(tuple.first?.text ?? "")"
            case .change(let table, .readAgain): "read again \(table.description.name)"
            case .change(let table, .update): "update \(table.description.name)"
            case .change(let table, .delete): "delete \(table.description.name)"
            case .change(let table, .snapshot): "snapshot \(table.description.name)"
            case .truncate(let table): "truncate \(table.description.name)"
            case .committed(let lsn): "committed \(lsn)"
            case .identityIsOver(let table): "over \(table.description.name)"
            case .told(let progress): "told \(progress.changes) of \(progress.finalLSN)"
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
        // Its rows go in pieces, between which the link can be lost.
        #expect(
            short(assembler.takeEvents()) == [
                "insert t a", "told 3 of 0/A", "truncate t", "committed 0/C",
            ])
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
        #expect(
            short(assembler.takeEvents()) == [
                "insert t next", "told 1 of 0/C", "truncate t", "committed 0/E",
            ])
    }

    /// The id of a transaction comes again some day.
    @Test func whatWasReadIsNotAppliedAgain() async throws {
        var read = try await table("t", oid: 1)
        read.seen = SeenTransactions(text: "10:14:10,12")
        func told(_ table: SourceTable, _ transaction: UInt32, at commit: UInt64) -> [String] {
            var assembler = ChangeAssembler(appliedLSN: .zero)
            assembler.set(table, for: 1)
            _ = assembler.handle(
                .begin(finalLSN: lsn(commit), commitTime: 0, transactionID: transaction))
            _ = assembler.handle(.insert(relation: 1, new: [.text("a")]))
            _ = assembler.handle(.delete(relation: 1, old: .key([.text("b")])))
            _ = assembler.handle(.truncate(relations: [1], options: 0))
            _ = assembler.handle(.commit(commitLSN: lsn(commit), endLSN: lsn(commit + 2), commitTime: 0))
            return short(assembler.takeEvents()).dropLast()
        }
        func all(_ commit: UInt64) -> [String] {
            ["insert t a", "delete t", "told 2 of \(lsn(commit))", "truncate t"]
        }
        // It is, as with a table that is new (service 4.8).
        #expect(told(read, 11, at: 40) == all(40))
        read.readUntil = lsn(50)
        #expect(told(read, 11, at: 40) == [] && told(read, 9, at: 50) == [])
        #expect(told(read, 12, at: 50) == all(50) && told(read, 14, at: 50) == all(50))
        #expect(told(read, 11, at: 60) == all(60))
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
        #expect(short(assembler.takeEvents()) == ["insert t new", "told 1 of 0/14"])
    }

    /// Reading a row again can show that its table is another by now, of which a relation has come already.
    @Test func aRelationThatWasToldIsLookedUpAlsoIfItsTableIsReplaced() async throws {
        let old = try await table("t", oid: 1)
        for replacement in [nil, old] {
            var assembler = ChangeAssembler(appliedLSN: .zero)
            assembler.set(old, for: 1)
            _ = assembler.handle(.begin(finalLSN: lsn(10), commitTime: 0, transactionID: 1))
            let new = PgOutputRelation(
                oid: 1, namespace: "public", name: "t", identity: .full, columns: [])
            #expect(assembler.handle(.relation(new)) == nil)
            assembler.replace(replacement, for: 1)
            #expect(assembler.handle(.insert(relation: 1, new: [.text("a")])) == .table(new))
        }
    }

    /// A batch ends in the middle of a transaction, and then the link: Postgres tells all of it again.
    @Test func whatWasAppliedOfATransactionIsNotAppliedAgain() async throws {
        let relation = PgOutputRelation(
            oid: 1, namespace: "public", name: "t", identity: .nothing, columns: [])
        let table = try await table("t", oid: 1)
        func tell(_ assembler: inout ChangeAssembler, _ changes: [PgOutputMessage]) -> [String] {
            let begin = PgOutputMessage.begin(finalLSN: lsn(20), commitTime: 0, transactionID: 1)
            var seen: [String] = []
            for message in [begin, .relation(relation)] + changes {
                while assembler.handle(message) != nil {
                    seen += short(assembler.takeEvents())
                    seen.append("look-up")
                    assembler.set(table, for: 1)
                }
            }
            return seen + short(assembler.takeEvents())
        }
        let rows = ["a", "b", "c"].map { PgOutputMessage.insert(relation: 1, new: [.text($0)]) }
        var first = ChangeAssembler(appliedLSN: lsn(12))
        #expect(
            tell(&first, [rows[0], .truncate(relations: [1], options: 0), rows[1]])
                == [
                    "look-up", "insert t a", "told 1 of 0/14", "truncate t", "insert t b", "told 3 of 0/14",
                ])
        let told = TransactionProgress(finalLSN: lsn(20), changes: 3)
        var second = ChangeAssembler(appliedLSN: lsn(12), partial: told)
        let commit = PgOutputMessage.commit(commitLSN: lsn(20), endLSN: lsn(22), commitTime: 0)
        #expect(
            tell(&second, [rows[0], .truncate(relations: [1], options: 0)] + rows[1...] + [commit])
                == ["look-up", "insert t c", "committed 0/16"])
        // Another transaction is not meant.
        var third = ChangeAssembler(
            appliedLSN: lsn(12), partial: TransactionProgress(finalLSN: lsn(14), changes: 3))
        #expect(tell(&third, [rows[0]]) == ["look-up", "insert t a", "told 1 of 0/14"])
    }

    /// A table that the first link told of may be left out by the next, and the other way round.
    @Test func whereATransactionWasCutIsAPositionNotANumber() async throws {
        let known = try await table("u", oid: 2)
        func tell(_ assembler: inout ChangeAssembler, _ changes: [(UInt32, UInt64, String)]) -> [String] {
            assembler.set(known, for: 2)
            _ = assembler.handle(
                .begin(finalLSN: lsn(90), commitTime: 0, transactionID: 1), at: lsn(10))
            for (relation, position, name) in changes {
                _ = assembler.handle(
                    .insert(relation: relation, new: [.text(name)]), at: lsn(position))
            }
            return short(assembler.takeEvents())
        }
        var first = ChangeAssembler(appliedLSN: .zero)
        #expect(
            tell(&first, [(1, 10, "t"), (2, 20, "a"), (2, 20, "b")]) == [
                "insert u a", "insert u b", "told 2 of 0/5A",
            ])
        let told = TransactionProgress(finalLSN: lsn(90), position: lsn(20), changes: 2)
        for former in [[], [(1, 10, "t"), (3, 15, "x")]] as [[(UInt32, UInt64, String)]] {
            var second = ChangeAssembler(appliedLSN: .zero, partial: told)
            let seen = tell(&second, former + [(2, 20, "a"), (2, 20, "b"), (2, 20, "c"), (2, 30, "d")])
            #expect(seen == ["insert u c", "insert u d", "told 1 of 0/5A"])
        }
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

    /// What is told in front of a truncate is that of its own transaction.
    @Test func aTruncateThatBeginsATransactionSaysNothingOfTheOneBefore() async throws {
        var assembler = ChangeAssembler(appliedLSN: .zero)
        assembler.set(try await table("t", oid: 1), for: 1)
        for (commit, name) in [(10, "a"), (20, "b")] as [(UInt64, String)] {
            _ = assembler.handle(.begin(finalLSN: lsn(commit), commitTime: 0, transactionID: 1))
            _ = assembler.handle(.truncate(relations: [1], options: 0))
            _ = assembler.handle(.insert(relation: 1, new: [.text(name)]))
            _ = assembler.handle(.commit(commitLSN: lsn(commit), endLSN: lsn(commit + 2), commitTime: 0))
        }
        #expect(
            short(assembler.takeEvents()) == [
                "truncate t", "insert t a", "committed 0/C", "truncate t", "insert t b", "committed 0/16",
            ])
    }
}

extension ChangeAssembler {
    /// Handles a message where positions do not matter.
    fileprivate mutating func handle(_ message: PgOutputMessage) -> Need? { handle(message, at: .zero) }
}
