import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Random transactions in all replica identities, and what a client makes of the operations that they become.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(minutes: 30), .namesSeed)
struct RandomTransactionTests {
    private static let transactions = 50

    private static let config =
        "config: {edition: 3}\nstreams:\n"
        + (0..<5).map {
            "  s\($0): {auto_subscribe: true, query: SELECT * FROM t\($0) WHERE owner = auth.user_id()}\n"
        }.joined()

    /// After each commit the buckets equal the source, and the operations are those of the log of commits: none is missing,
    /// and none comes twice but for rows of a transaction that brings a snapshot (service 4.8).
    @Test func bucketsEqualTheSourceAfterEachCommit() async throws {
        try await forEachSeed(TestOptions.number("POWERSYNC_TRANSACTION_SEEDS", standard: 4)) { random in
            var chance = random
            try await TestService.run([], publication: "") { service in
                var model = SourceModel(
                    service.source,
                    [
                        ModelTable(name: "t0", key: ["id"], identity: .primaryKey),
                        ModelTable(name: "t1", key: ["k", "id"], identity: .primaryKey),
                        ModelTable(name: "t2", key: ["id"], identity: .full),
                        ModelTable(name: "t3", key: ["id"], identity: .index),
                        ModelTable(name: "t4", key: ["id"], identity: .nothing),
                    ])
                try await model.create(&chance)
                try await service.start(Self.config)
                let stream = try await service.open(SyncStreamRequest(clientID: "c"))
                try await stream.holds("the snapshot")
                var seen = stream.lines.count
                for _ in 0..<Self.transactions {
                    if chance.below(8) == 0 { try await Self.loseLink(service) }
                    try await model.transaction(&chance)
                    let id = try await service.writeCheckpoint(client: "c")
                    let held = try await stream.holds("the transaction") { $0.writeCheckpoint == id }
                    let lines = stream.lines
                    try await Self.compare(Array(lines[seen...]), held, &model)
                    seen = lines.count
                }
                let told = service.log.filter { $0.contains("WARNING") || $0.contains("ERROR") }
                #expect(told.allSatisfy { $0.contains("replication failed and will be tried again") })
            }
            random = chance
        }
    }

    /// Ends the link, and waits for the next: each is told of relations again.
    private static func loseLink(_ service: TestService) async throws {
        let link = "SELECT active_pid FROM pg_replication_slots WHERE database = current_database()"
        let former = try await service.source.query(
            "SELECT pid, pg_terminate_backend(pid) FROM (\(link)) l(pid)"
        ).scalar
        try await wait(for: "another link") {
            try await service.source.query(link).scalar
        } until: {
            $0 != nil && $0 != former
        }
    }

    private static func compare(
        _ lines: [SyncLine], _ held: StreamModel, _ model: inout SourceModel
    ) async throws {
        let context = Comment(rawValue: model.statements.joined(separator: ";\n"))
        var operations: [Operation] = []
        for case .data(let data) in lines { operations += data.operations }
        let seen = operations.sorted { $0.id < $1.id }.map {
            ExpectedOperation(table: $0.objectType ?? "", id: $0.objectID ?? "", data: $0.data)
        }
        let reduced = model.reduced
        #expect(
            runsSorted(seen.filter { !reduced.contains($0.table) })
                == runsSorted(model.expected.filter { !reduced.contains($0.table) }), context)
        for table in model.tables {
            let prefix = "\(table.name)/"
            let rows = held.rowNames.filter { $0.hasPrefix(prefix) }.map {
                String($0.dropFirst(prefix.count))
            }
            var found: [String: String] = [:]
            var copies: [String: Int] = [:]
            for id in rows {
                found[id] = held.data(of: prefix + id)
                copies[id] = held.copies(of: prefix + id)
            }
            guard reduced.contains(table.name), !table.isAway else {
                try #require(found == table.held.mapValues(\.data), context)
                try #require(copies == table.held.mapValues(\.copies), context)
                continue
            }
            let now = try await model.rows(table)
            try #require(found.keys.sorted() == now.keys.sorted(), context)
            for (id, data) in found {
                // As the source has it now, or as the transaction left it before it changed columns.
                try #require(data == now[id] || data == table.held[id]?.data, context)
                // Where nothing identifies a row, one that the snapshot has read comes again (service 4.8).
                try #require(copies[id] == 1 || table.identity == .nothing, context)
            }
            model.settle(table.name, held: found, copies: copies)
        }
    }

    /// The rows of a truncated table are removed in the order of their replica ids, which are not known here.
    private static func runsSorted(_ operations: [ExpectedOperation]) -> [ExpectedOperation] {
        var result: [ExpectedOperation] = []
        var run: [ExpectedOperation] = []
        func flush() {
            result += run.sorted { $0.id < $1.id }
            run = []
        }
        for operation in operations {
            if operation.data != nil || run.last.map({ $0.table != operation.table }) == true { flush() }
            if operation.data == nil { run.append(operation) } else { result.append(operation) }
        }
        flush()
        return result
    }
}
