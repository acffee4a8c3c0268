import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncTestSupport
import Testing

@testable import PowerSyncPostgresSource
@testable import PowerSyncServiceEngine

@Suite(.namesSeed)
struct StreamDecoderTests {
    private typealias Message = (message: PgOutputMessage, position: UInt64)

    /// What a batch says, in order.
    private static func short(_ batch: ChangeBatch?) -> [String] {
        guard let batch else { return [] }
        var result: [String] = []
        var marks = batch.marks[...]
        for index in 0...batch.changes.count {
            while let first = marks.first, first.before == index {
                if let text = short(first.mark, batch) { result.append(text) }
                marks.removeFirst()
            }
            guard index < batch.changes.count else { break }
            let change = batch.changes[index]
            let name = batch.tables[change.table].table.description.name
            switch change.kind {
            case .insert: result.append("insert \(name) \(text(change.new, batch))")
            case .update: result.append("update \(name)")
            case .delete: result.append("delete \(name)")
            case .snapshot, .readAgain: result.append("read \(name)")
            }
        }
        return result
    }

    private static func short(_ mark: ChangeBatch.Mark, _ batch: ChangeBatch) -> String? {
        switch mark {
        case .begun, .readUpTo, .readWhole, .hold, .passed: nil
        case .committed(let position): "committed \(position)"
        case .told(let progress): "told \(progress.changes) of \(progress.finalLSN)"
        case .truncate(let table): "truncate \(batch.tables[table].table.description.name)"
        case .identityIsOver(let table): "over \(batch.tables[table].table.description.name)"
        }
    }

    private static func text(_ cell: Int, _ batch: ChangeBatch) -> String {
        batch.cells[cell].range.map { String(decoding: batch.bytes[$0], as: UTF8.self) } ?? "-"
    }

    private func plan(
        _ name: String, oid: UInt32, columns: [String] = ["id"],
        _ change: (inout SourceTable) -> Void = { _ in }
    ) async throws -> TablePlan {
        let store = try await ServiceStore.open(path: ":memory:", readers: 0)
        let plan = try SyncPlan.compiled(
            "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t}}")
        let description = TableDescription(
            oid: oid, schema: "public", name: name,
            columns: columns.map { SourceColumn(name: $0, typeOID: 25, isIdentity: $0 == "id") })
        let resolved: SourceTable
        do {
            resolved = try await store.resolve(
                description, types: TypeCatalog(), EvaluationContext(stream: 1, plan: plan))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        var table = resolved
        change(&table)
        return TablePlan(table, ServedPlan(stream: 1, plan: plan)) { _ in 1 }
    }

    private func lsn(_ value: UInt64) -> LSN { LSN(rawValue: value) }

    private func begin(_ commit: UInt64, id: UInt32 = 1) -> PgOutputMessage {
        .begin(finalLSN: lsn(commit), commitTime: 0, transactionID: id)
    }

    private func commit(_ commit: UInt64) -> PgOutputMessage {
        .commit(commitLSN: lsn(commit), endLSN: lsn(commit + 2), commitTime: 0)
    }

    /// Reads messages, and answers each question with a table; positions do not matter unless they are told.
    ///
    /// - Returns: What is to be submitted, and where a table was looked up.
    private func tell(
        _ decoder: inout StreamDecoder, _ messages: [Message], table: TablePlan? = nil
    ) throws -> [String] {
        var bytes = StreamBytes()
        for (message, position) in messages { bytes.add(message, at: lsn(position)) }
        var frames = bytes.frames
        decoder.append(&frames)
        #expect(frames.isEmpty)
        var seen: [String] = []
        while let step = try decoder.step() {
            guard case .table(let relation) = step else { continue }
            seen += Self.short(decoder.take())
            seen.append("look-up \(relation.identity)")
            decoder.set(table, for: relation.oid)
        }
        return seen + Self.short(decoder.take())
    }

    private func tell(
        _ decoder: inout StreamDecoder, _ messages: PgOutputMessage..., table: TablePlan? = nil
    ) throws -> [String] {
        try tell(&decoder, messages.map { message -> Message in (message, 0) }, table: table)
    }

    private func relation(
        _ oid: UInt32 = 1, _ identity: PgOutputRelation.Identity = .primaryKey
    ) -> PgOutputRelation {
        PgOutputRelation(oid: oid, namespace: "public", name: "t", identity: identity, columns: [])
    }

    // MARK: Transactions

    @Test func collectsWholeTransactionsOfTheTablesThatMatter() async throws {
        var decoder = StreamDecoder(appliedLSN: .zero)
        let table = try await plan("t", oid: 1)
        let seen = try tell(
            &decoder, begin(10), .relation(relation()), .insert(relation: 1, new: [.text("a")]),
            .insert(relation: 2, new: [.text("b")]), .insert(relation: 3, new: [.text("c")]),
            .message(isTransactional: true, lsn: lsn(9), prefix: "powersync", content: []),
            .truncate(relations: [2, 1], options: 0), commit(10), table: table)
        #expect(!decoder.isInTransaction && decoder.isEmpty)
        // Its rows go in pieces, between which the link can be lost.
        #expect(
            seen == ["look-up primaryKey", "insert t a", "told 3 of 0/A", "truncate t", "committed 0/C"])
        let notes = decoder.takeNotes()
        #expect(notes?.begun == [1] && notes?.commits == 1 && notes?.commitTime == 0)
        #expect(decoder.takeNotes() == nil)
    }

    @Test func skipsWhatWasAppliedBefore() async throws {
        var decoder = StreamDecoder(appliedLSN: lsn(12))
        decoder.set(try await plan("t", oid: 1), for: 1)
        var seen: [String] = []
        for (position, name) in [(5, "old"), (10, "last"), (12, "next")] as [(UInt64, String)] {
            seen += try tell(
                &decoder, begin(position), .insert(relation: 1, new: [.text(name)]),
                .truncate(relations: [1], options: 0), commit(position))
        }
        #expect(seen == ["insert t next", "told 1 of 0/C", "truncate t", "committed 0/E"])
    }

    /// The id of a transaction comes again some day.
    @Test func whatWasReadIsNotAppliedAgain() async throws {
        func told(until: UInt64, _ transaction: UInt32, at position: UInt64) async throws -> [String] {
            let read = try await plan("t", oid: 1) { table in
                table.seen = SeenTransactions(text: "10:14:10,12")
                table.readUntil = lsn(until)
            }
            var decoder = StreamDecoder(appliedLSN: .zero)
            decoder.set(read, for: 1)
            return try tell(
                &decoder, begin(position, id: transaction), .insert(relation: 1, new: [.text("a")]),
                .delete(relation: 1, old: .key([.text("b")])), .truncate(relations: [1], options: 0),
                commit(position)
            ).dropLast()
        }
        // It is, as with a table that is new (service 4.8).
        func all(_ commit: UInt64) -> [String] {
            ["insert t a", "delete t", "told 2 of \(lsn(commit))", "truncate t"]
        }
        #expect(try await told(until: 0, 11, at: 40) == all(40))
        #expect(try await told(until: 50, 11, at: 40) == [])
        #expect(try await told(until: 50, 9, at: 50) == [])
        #expect(try await told(until: 50, 12, at: 50) == all(50))
        #expect(try await told(until: 50, 14, at: 50) == all(50))
        #expect(try await told(until: 50, 11, at: 60) == all(60))
    }

    /// Postgres says each relation once a connection, also in a transaction that is repeated.
    @Test func aRelationOfARepeatedTransactionIsLookedUpForTheFirstChangeThatCounts() async throws {
        var decoder = StreamDecoder(appliedLSN: lsn(12))
        for (position, identity) in [(5, .full), (10, .primaryKey)] as [(UInt64, PgOutputRelation.Identity)] {
            let seen = try tell(
                &decoder, begin(position), .relation(relation(1, identity)),
                .insert(relation: 1, new: [.text("old")]), .truncate(relations: [1], options: 0),
                commit(position))
            #expect(seen == [])
        }
        let table = try await plan("t", oid: 1)
        let seen = try tell(&decoder, begin(20), .insert(relation: 1, new: [.text("new")]), table: table)
        #expect(seen == ["look-up primaryKey", "insert t new", "told 1 of 0/14"])
    }

    /// Reading a row again can show that its table is another by now, of which a relation has come already.
    @Test func aRelationThatWasToldIsLookedUpAlsoIfItsTableIsReplaced() async throws {
        let old = try await plan("t", oid: 1)
        for replacement in [nil, old] {
            var decoder = StreamDecoder(appliedLSN: .zero)
            decoder.set(old, for: 1)
            #expect(try tell(&decoder, begin(10), .relation(relation(1, .full))) == [])
            decoder.replace(replacement, for: 1)
            let seen = try tell(&decoder, .insert(relation: 1, new: [.text("a")]))
            #expect(seen == ["look-up full"])
        }
    }

    /// A batch ends in the middle of a transaction, and then the link: Postgres tells all of it again.
    @Test func whatWasAppliedOfATransactionIsNotAppliedAgain() async throws {
        let table = try await plan("t", oid: 1)
        let truncate = PgOutputMessage.truncate(relations: [1], options: 0)
        func row(_ name: String) -> PgOutputMessage { .insert(relation: 1, new: [.text(name)]) }
        let begun = [begin(20), .relation(relation(1, .nothing))]
        func tell(_ decoder: inout StreamDecoder, _ messages: [PgOutputMessage]) throws -> [String] {
            let all = (begun + messages).map { message -> Message in (message, 0) }
            return try self.tell(&decoder, all, table: table)
        }
        var first = StreamDecoder(appliedLSN: lsn(12))
        #expect(
            try tell(&first, [row("a"), truncate, row("b")])
                == [
                    "look-up nothing", "insert t a", "told 1 of 0/14", "truncate t", "insert t b",
                    "told 3 of 0/14",
                ])
        let told = TransactionProgress(finalLSN: lsn(20), changes: 3)
        var second = StreamDecoder(appliedLSN: lsn(12), partial: told)
        #expect(
            try tell(&second, [row("a"), truncate, row("b"), row("c"), commit(20)])
                == ["look-up nothing", "insert t c", "committed 0/16"])
        // Another transaction is not meant.
        var third = StreamDecoder(
            appliedLSN: lsn(12), partial: TransactionProgress(finalLSN: lsn(14), changes: 3))
        #expect(try tell(&third, [row("a")]) == ["look-up nothing", "insert t a", "told 1 of 0/14"])
    }

    /// A table that the first link told of may be left out by the next, and the other way round.
    @Test func whereATransactionWasCutIsAPositionNotANumber() async throws {
        let known = try await plan("u", oid: 2)
        func tell(_ decoder: inout StreamDecoder, _ changes: [(UInt32, UInt64, String)]) throws -> [String] {
            decoder.set(known, for: 2)
            let rows = changes.map { relation, position, name -> Message in
                (.insert(relation: relation, new: [.text(name)]), position)
            }
            let first: [Message] = [(begin(90), 10)]
            return try self.tell(&decoder, first + rows)
        }
        var first = StreamDecoder(appliedLSN: .zero)
        #expect(
            try tell(&first, [(1, 10, "t"), (2, 20, "a"), (2, 20, "b")]) == [
                "insert u a", "insert u b", "told 2 of 0/5A",
            ])
        let told = TransactionProgress(finalLSN: lsn(90), position: lsn(20), changes: 2)
        for former in [[], [(1, 10, "t"), (3, 15, "x")]] as [[(UInt32, UInt64, String)]] {
            var second = StreamDecoder(appliedLSN: .zero, partial: told)
            let seen = try tell(
                &second, former + [(2, 20, "a"), (2, 20, "b"), (2, 20, "c"), (2, 30, "d")])
            #expect(seen == ["insert u c", "insert u d", "told 1 of 0/5A"])
        }
    }

    /// What is told in front of a truncate is that of its own transaction.
    @Test func aTruncateThatBeginsATransactionSaysNothingOfTheOneBefore() async throws {
        var decoder = StreamDecoder(appliedLSN: .zero)
        decoder.set(try await plan("t", oid: 1), for: 1)
        let truncate = PgOutputMessage.truncate(relations: [1], options: 0)
        let seen = try tell(
            &decoder, begin(10), truncate, .insert(relation: 1, new: [.text("a")]), commit(10), begin(20),
            truncate, .insert(relation: 1, new: [.text("b")]), commit(20))
        #expect(
            seen == [
                "truncate t", "insert t a", "committed 0/C", "truncate t", "insert t b", "committed 0/16",
            ])
    }

    // MARK: Buffers

    @Test func aBatchIsFullByCountAndBySize() async throws {
        var limits = StoreLimits()
        limits.batchChanges = 3
        limits.batchBytes = 1000
        var decoder = StreamDecoder(appliedLSN: .zero, limits: limits)
        decoder.set(try await plan("t", oid: 1), for: 1)
        func add(_ messages: PgOutputMessage...) throws {
            var bytes = StreamBytes()
            for message in messages { bytes.add(message, at: .zero) }
            var frames = bytes.frames
            decoder.append(&frames)
            #expect(try decoder.step() == nil)
        }
        func row(_ size: Int) -> PgOutputMessage {
            .insert(relation: 1, new: [.text(String(repeating: "x", count: size))])
        }
        try add(begin(10), row(1), row(1))
        #expect(!decoder.isFull && decoder.room.count == 1 && decoder.room.bytes < 1000)
        try add(row(1))
        #expect(decoder.isFull && decoder.room == PostgresFrames.Limits(bytes: decoder.room.bytes, count: 1))
        #expect(Self.short(decoder.take()).count == 4)
        #expect(!decoder.isFull && decoder.room == PostgresFrames.Limits(bytes: 1000, count: 3))
        try add(row(1000))
        #expect(decoder.isFull && decoder.room.bytes == 1)
        _ = decoder.take()
        // What matters to nobody fills nothing.
        for _ in 0..<5 { try add(.insert(relation: 9, new: [.text(String(repeating: "x", count: 1000))])) }
        #expect(!decoder.isFull && decoder.isEmpty && decoder.room.bytes == 1000)
    }

    /// A table with a list.
    private static func listed(_ config: SyncPlan, _ name: String, oid: UInt32) async throws -> TablePlan {
        let columns = ["id", "list"].map { SourceColumn(name: $0, typeOID: 25, isIdentity: $0 == "id") }
        let table = try await EvaluatedTable(
            config, TableDescription(oid: oid, schema: "public", name: name, columns: columns),
            TypeCatalog())
        return table.plan
    }

    /// A row that goes may leave many places: the store can end a transaction in front of it.
    @Test func whatStandsBeforeARowInManyPlacesIsTold() async throws {
        let config = try SyncPlan.compiled(
            """
            config: {edition: 3}
            streams:
              s: {query: SELECT id FROM t WHERE auth.user_id() IN list}
              a: {query: SELECT * FROM a}
            """)
        var decoder = StreamDecoder(appliedLSN: .zero)
        for (oid, name) in [(UInt32(1), "t"), (2, "a")] {
            let table = try await Self.listed(config, name, oid: oid)
            #expect(!table.isMultiplied && table.hasManyPlaces == (name == "t"))
            decoder.set(table, for: oid)
        }
        func delete(_ id: Int, of relation: UInt32 = 1) -> PgOutputMessage {
            .delete(relation: relation, old: .key([.text("\(id)"), .null]))
        }
        let seen = try tell(
            &decoder, begin(10), delete(1), delete(2), commit(10), begin(20), delete(3, of: 2), delete(4),
            delete(5, of: 2), commit(20))
        #expect(
            seen == [
                "delete t", "told 1 of 0/A", "delete t", "committed 0/C", "delete a", "told 1 of 0/14",
                "delete t", "delete a", "committed 0/16",
            ])
    }

    /// An element of an array may bring all of its row once more: such rows are submitted before they are many.
    @Test func rowsThatMayComeToMuchAreSubmittedEarly() async throws {
        let config = try SyncPlan.compiled(
            """
            config: {edition: 3}
            streams:
              s:
                query: |
                  SELECT * FROM a WHERE id IN
                    (SELECT t.id FROM t, json_each(t.list) AS r WHERE r.value = auth.user_id())
            """)
        var limits = StoreLimits()
        #expect(limits.multipliedBytes == 16 << 10)
        limits.multipliedBytes = 100
        var decoder = StreamDecoder(appliedLSN: .zero, limits: limits)
        for (oid, name) in [(UInt32(1), "t"), (2, "a")] {
            let table = try await Self.listed(config, name, oid: oid)
            #expect(table.isMultiplied == (name == "t") && table.hasManyPlaces == (name == "t"))
            decoder.set(table, for: oid)
        }
        func row(_ id: Int, of relation: UInt32 = 1) -> PgOutputMessage {
            .insert(relation: relation, new: [.text("\(id)"), .text(String(repeating: "x", count: 60))])
        }
        var bytes = StreamBytes()
        let rows = (1...5).map { row($0) } + (6...9).map { row($0, of: 2) }
        for message in [begin(10)] + rows + [commit(10)] { bytes.add(message, at: .zero) }
        var frames = bytes.frames
        decoder.append(&frames)
        var seen: [[String]] = []
        while let step = try decoder.step() {
            #expect(step == .full)
            seen.append(Self.short(decoder.take()))
        }
        seen.append(Self.short(decoder.take()))
        #expect(
            seen == [
                ["insert t 1", "told 1 of 0/A", "insert t 2", "told 2 of 0/A"],
                ["insert t 3", "told 3 of 0/A", "insert t 4", "told 4 of 0/A"],
                ["insert t 5"] + (6...9).map { "insert a \($0)" } + ["committed 0/C"],
            ])
    }

    /// However messages are cut into buffers, and whether a table is looked up in the midst of one.
    @Test func buffersThatAreCutAnywhereSayTheSame() async throws {
        let table = try await plan("t", oid: 1, columns: ["id", "a", "b"])
        try await forEachSeed(100) { random in
            var messages: [PgOutputMessage] = []
            var expected: [String] = []
            for number in 0..<3 {
                let position = UInt64(10 * number + 10)
                messages.append(begin(position))
                if random.once(in: 2) { messages.append(.relation(relation())) }
                for row in 0..<random.below(5) {
                    let name = "r\(number)\(row)" + random.pick(["", "é", "\t\\"])
                    messages.append(.insert(relation: 1, new: [.text(name), .null, .text("b")]))
                    expected.append("insert t \(name)")
                }
                messages.append(commit(position))
                expected.append("committed \(lsn(position + 2))")
            }
            var decoder = StreamDecoder(appliedLSN: .zero)
            decoder.set(table, for: 1)
            var seen: [String] = []
            var rest = messages[...]
            while !rest.isEmpty {
                let count = 1 + random.below(rest.count)
                var bytes = StreamBytes()
                for message in rest.prefix(count) { bytes.add(message, at: .zero) }
                rest = rest.dropFirst(count)
                var frames = bytes.frames
                decoder.append(&frames)
                while let step = try decoder.step() {
                    guard case .table = step else { continue }
                    seen += Self.short(decoder.take())
                    decoder.set(table, for: 1)
                }
                if random.once(in: 2) { seen += Self.short(decoder.take()) }
            }
            seen += Self.short(decoder.take())
            #expect(seen.filter { !$0.hasPrefix("told") } == expected)
        }
    }

    @Test func cellsAreThoseOfTheTable() async throws {
        var decoder = StreamDecoder(appliedLSN: .zero)
        decoder.set(try await plan("t", oid: 1, columns: ["id", "a", "b"]), for: 1)
        var bytes = StreamBytes()
        let messages: [PgOutputMessage] = [
            begin(10),
            .update(
                relation: 1, old: .key([.text("k"), .null, .null]),
                new: [.text("n"), .unchangedToast, .null]),
            .insert(relation: 1, new: [.text("short")]),
            .insert(relation: 1, new: [.text("long"), .null, .null, .text("more")]),
            .delete(relation: 1, old: .key([.text("d"), .null, .null])),
        ]
        for message in messages { bytes.add(message, at: .zero) }
        bytes.addKeepalive(lsn(11), replyRequested: true)
        var frames = bytes.frames
        decoder.append(&frames)
        #expect(try decoder.step() == .keepalive(end: lsn(11), replyRequested: true))
        #expect(try decoder.step() == nil)
        let taken = decoder.take()
        let batch = try #require(taken)
        #expect(batch.changes.map(\.kind) == [.update, .insert, .insert, .delete])
        #expect(batch.changes.map(\.new) == [3, 6, 9, -1])
        #expect(batch.changes.map(\.old) == [0, -1, -1, 12])
        let texts = batch.cells.map { cell in
            let text = cell.range.map { String(decoding: batch.bytes[$0], as: UTF8.self) }
            return text ?? (cell == .unchanged ? "unchanged" : "null")
        }
        #expect(
            texts == [
                "k", "null", "null", "n", "unchanged", "null", "short", "null", "null", "long", "null",
                "null", "d", "null", "null",
            ])
        #expect(batch.mayBeIncomplete && batch.marks.first?.mark == .begun(lsn(10)))
    }

    @Test func aMessageThatIsMalformedIsRefused() async throws {
        var decoder = StreamDecoder(appliedLSN: .zero)
        var frames = PostgresFrames()
        Array("w".utf8).withUnsafeBytes { frames.append($0) }
        decoder.append(&frames)
        #expect(throws: PostgresError.self) { try decoder.step() }
    }
}
