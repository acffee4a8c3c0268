import PowerSync
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Seeded sessions: however lines are stored and published, the tables are the same in the end.
@Suite(.patient()) struct SyncTuningTests {
    private static let walking = tuning(coalescedBytes: 32 << 20)
    private static let ways: [String: SyncTuning] = [
        "as shipped": .standard, "walking": walking, "small flushes": tuning(coalescedBytes: 700),
        "line by line, sorted": tuning(coalescedBytes: 0),
        "together, in order": SyncTuning(coalescedBytes: 32 << 20, usesFastPaths: false),
    ]

    private static func tuning(coalescedBytes: Int) -> SyncTuning {
        var tuning = SyncTuning(coalescedBytes: coalescedBytes, usesFastPaths: true)
        tuning.walkedRows = 1
        return tuning
    }

    @Test(arguments: 1...24) func leavesTheSameTablesHoweverLinesAreStored(_ seed: Int) throws {
        let (plain, session) = try Session.record(seed)
        let expected = try TableDump(of: plain.connection)
        #expect(try plain.brokenInvariants().isEmpty)
        for (name, tuning) in Self.ways.sorted(by: { $0.key < $1.key }) {
            let bench = try Session.prepared(seed)
            var player = Player(bench, tuning)
            for step in session { try player.play(step) }
            try player.iteration.flush(on: bench.connection, now: bench.now)
            let found = try TableDump(of: bench.connection)
            #expect(found == expected, "\(name), seed \(seed)")
            #expect(player.told == plain.told, "\(name), seed \(seed)")
            #expect(try bench.brokenInvariants().isEmpty)
        }
    }

    /// Something that happens in a session.
    fileprivate enum Step {
        case event(SyncEvent)
        case sql(String)
    }

    fileprivate struct Player {
        let bench: SyncBench
        var iteration: SyncIteration
        /// The names of all effects, and the progress of each status.
        var told: [String] = []
        var connection: SQLiteConnection { bench.connection }

        init(_ bench: SyncBench, _ tuning: SyncTuning) {
            self.bench = bench
            iteration = SyncIteration(tuning: tuning)
        }

        mutating func play(_ step: Step) throws {
            switch step {
            case .sql(let sql): try connection.transaction { try connection.execute(sql) }
            case .event(let event):
                let effects = try iteration.feed(event, on: connection, now: bench.now)
                told += effects.names
                told += effects.status.map { ["\($0)"] } ?? []
                guard !iteration.state.isActive else { return }
                told += try iteration.feed(.start(SyncStart()), on: connection, now: bench.now).names
            }
        }

        func brokenInvariants() throws -> [[SQLiteValue]] { try bench.brokenInvariants() }
    }

    /// Makes sessions; what the checkpoints say is read from the database that plays along.
    fileprivate struct Session {
        private var random: SeededRandom
        private var op: Int64 = 100
        private let buckets = ["a", "b", "c"]

        static func prepared(_ seed: Int) throws -> SyncBench {
            let bench = try SyncBench()
            guard seed % 3 == 0 else { return bench }
            // A file of another client: several rows of one key, a row without a name.
            try bench.connection.execute(
                """
                INSERT INTO ps_buckets(name, last_applied_op, last_op, op_checksum, add_checksum)
                VALUES ('a', \(seed % 2 == 0 ? 0 : 90), 90, 60, 5);
                INSERT INTO ps_oplog VALUES (1, 10, 'items', 'r1', 'items/r1/null', '{"col":"10"}', 10);
                INSERT INTO ps_oplog VALUES (1, 20, 'items', 'r1', 'items/r1/null', '{"col":"20"}', 20);
                INSERT INTO ps_oplog VALUES (1, 25, 'items/r1', 'x', 'items/r1/x/null', '{"col":"25"}', 25);
                INSERT INTO ps_oplog VALUES (1, 5, NULL, NULL, NULL, '{}', 5);
                """)
            return bench
        }

        static func record(_ seed: Int) throws -> (Player, [Step]) {
            var session = Session(random: SeededRandom(seed: seed))
            var player = Player(try prepared(seed), .plain)
            var steps: [Step] = []
            func play(_ step: Step) throws {
                try player.play(step)
                steps.append(step)
            }
            try play(.event(.start(SyncStart())))
            try play(.event(.connectionEstablished))
            for _ in 0..<60 {
                for step in try session.next(player.connection) { try play(step) }
            }
            for step in try session.complete(player.connection) { try play(step) }
            return (player, steps)
        }

        private mutating func next(_ connection: SQLiteConnection) throws -> [Step] {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: return try complete(connection)
            case 1:
                let checkpoint = try checkpoint(connection, isRight: true)
                let priority = Int.random(in: 0...3, using: &random)
                return [checkpoint, try line(SyncLines.partial(priority, Int(4 * op + 4)))]
            case 2: return [.event(.start(SyncStart())), .event(.connectionEstablished)]
            case 3:
                return [
                    .sql(
                        "INSERT OR REPLACE INTO items(id, col) VALUES ('r\(Int.random(in: 0..<6, using: &random))', 'mine')"
                    )
                ]
            case 4:
                return [
                    .sql("DELETE FROM ps_crud; DELETE FROM ps_kv WHERE key = 'target_checkpoint_request_id'"),
                    .event(.uploadCompleted),
                ]
            case 5: return [try line(SyncLines.tokenExpires(in: 100))]
            default: return [try data()]
            }
        }

        private mutating func complete(_ connection: SQLiteConnection) throws -> [Step] {
            let isRight = Int.random(in: 0..<6, using: &random) > 0
            return [
                try checkpoint(connection, isRight: isRight), try line(SyncLines.complete(Int(4 * op + 4))),
            ]
        }

        private mutating func checkpoint(_ connection: SQLiteConnection, isRight: Bool) throws -> Step {
            let sums = try connection.query("SELECT name, add_checksum + op_checksum FROM ps_buckets") {
                ($0.string(0), $0.int64(1) & 0xFFFF_FFFF)
            }
            let known = Dictionary(uniqueKeysWithValues: sums)
            var listed: [SyncLines.Bucket] = []
            for (index, name) in buckets.enumerated() where Int.random(in: 0..<8, using: &random) > 0 {
                let sum = (known[name] ?? 0) + (isRight ? 0 : 1)
                listed.append(.init(name, checksum: sum, priority: index, count: 50))
            }
            return try line(SyncLines.checkpoint(Int(4 * op + 4), listed))
        }

        private mutating func data() throws -> Step {
            let bucket = Int.random(in: 0..<buckets.count, using: &random)
            var operations: [Operation] = []
            for _ in 0..<Int.random(in: 0...6, using: &random) { operations.append(operation(bucket)) }
            let data = SyncLine.data(
                DataLine(bucket: buckets[bucket], operations: OperationList(operations)))
            return .event(.line(data, size: data.encoded().count))
        }

        private mutating func operation(_ bucket: Int) -> Operation {
            let isRepeated = Int.random(in: 0..<6, using: &random) == 0
            if !isRepeated { op += Int64.random(in: 1...3, using: &random) }
            // No two buckets have an operation in common.
            let id = 4 * (isRepeated ? op - Int64.random(in: 0...8, using: &random) : op) + Int64(bucket)
            let checksum = Checksum(UInt32.random(in: 0...UInt32.max, using: &random))
            let names = [("items", "r"), ("items", "r"), ("items", "r"), ("other", "o"), ("items/r1", "x")]
            let (type, prefix) = names.randomElement(using: &random) ?? ("items", "r")
            let row = prefix == "x" ? "x" : "\(prefix)\(Int.random(in: 0..<6, using: &random))"
            let subkey = [nil, nil, "k", "x/null"].randomElement(using: &random) ?? nil
            let texts = ["{\"col\":\"\(id)\"}", "{\"col\":NaN}", "{\"col\":\"NaN é\"}", nil]
            let data = texts.randomElement(using: &random) ?? nil
            switch Int.random(in: 0..<24, using: &random) {
            case 0: return Operation(id: id, kind: .clear, checksum: checksum)
            case 1, 2: return Operation(id: id, kind: .move, checksum: checksum)
            case 3: return Operation(id: id, kind: .remove, checksum: checksum)
            case 4...8:
                return Operation(
                    id: id, kind: .remove, objectType: type, objectID: row, subkey: subkey, checksum: checksum
                )
            default:
                return Operation(
                    id: id, kind: .put, objectType: type, objectID: row, subkey: subkey, checksum: checksum,
                    data: data)
            }
        }

        private init(random: SeededRandom) { self.random = random }

        private func line(_ text: String) throws -> Step {
            .event(.line(try SyncLine(parsing: Array(text.utf8)), size: text.utf8.count))
        }
    }
}
