import PowerSync
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Seeded sessions: however lines are stored and applied, the tables are those of ``PlainStore`` in the end.
@Suite(.patient()) struct StorageTuningTests {
    /// How a session is played.
    private struct Way {
        /// With how many bytes data lines are one event; 0 for each line by itself.
        var bytes = Int.max
        var scannedRows = StorageTuning.standard.scannedRows

        var tuning: StorageTuning {
            var tuning = StorageTuning.standard
            tuning.scannedRows = scannedRows
            return tuning
        }
    }

    private static let ways: [String: Way] = [
        "as shipped": Way(), "walking": Way(scannedRows: 1), "small batches": Way(bytes: 700, scannedRows: 1),
        "line by line": Way(bytes: 0), "line by line, walking": Way(bytes: 0, scannedRows: 1),
        "never walking": Way(scannedRows: .max),
    ]

    @Test(arguments: 1...24) func leavesTheSameTablesHoweverLinesAreStored(_ seed: Int) throws {
        let (plain, session) = try Session.record(seed)
        let expected = try TableDump(of: plain.connection)
        #expect(try plain.brokenInvariants().isEmpty)
        for (name, way) in Self.ways.sorted(by: { $0.key < $1.key }) {
            let bench = try Session.prepared(seed)
            let (connection, tuning) = (bench.connection, way.tuning)
            var player = Player(bench, bytes: way.bytes) {
                try SyncStore(connection: connection, now: $0, tuning: tuning).perform($1)
            }
            for step in session { try player.play(step) }
            try player.storeLines()
            let found = try TableDump(of: bench.connection)
            #expect(found == expected, "\(name), seed \(seed)")
            #expect(player.told == plain.told, "\(name), seed \(seed)")
            #expect(try bench.brokenInvariants().isEmpty)
        }
    }

    /// Something that happens in a session.
    fileprivate enum Step {
        case event(SyncEvent)
        case data(StorableLine)
        case sql(String)
    }

    fileprivate struct Player {
        let bench: SyncBench
        private let bytes: Int
        private let perform: (_ now: Int64, SyncTask) throws -> SyncEvent?
        private var iteration = SyncState()
        private var waiting: [StorableLine] = []
        /// Before each event the status, and behind it the names of all effects; statuses of data are told by those.
        private(set) var told: [String] = []
        var connection: SQLiteConnection { bench.connection }

        init(
            _ bench: SyncBench, bytes: Int,
            perform: @escaping (_ now: Int64, SyncTask) throws -> SyncEvent?
        ) {
            self.bench = bench
            self.bytes = bytes
            self.perform = perform
        }

        mutating func play(_ step: Step) throws {
            switch step {
            case .sql(let sql): try connection.transaction { try connection.execute(sql) }
            case .data(let line):
                waiting.append(line)
                if waiting.reduce(0, { $0 + $1.size }) >= bytes { try storeLines() }
            case .event(let event):
                try storeLines()
                told.append("\(iteration.status)")
                try tell(event)
                if !iteration.isActive { try tell(.start(SyncStart())) }
            }
        }

        /// Stores the lines that wait; of what that tells only the status is left.
        mutating func storeLines() throws {
            guard !waiting.isEmpty else { return }
            _ = try feed(.data(waiting))
            waiting = []
        }

        private mutating func tell(_ event: SyncEvent) throws {
            let effects = try feed(event)
            told += effects.names
            told += effects.status.map { ["\($0)"] } ?? []
        }

        private mutating func feed(_ event: SyncEvent) throws -> [SyncEffect] {
            let before = iteration
            let now = bench.now
            let perform = self.perform
            let result = try connection.transaction {
                try SyncTransaction.run(event, from: before) { try perform(now, $0) }
            }
            iteration = result.state
            return result.effects
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
            let bench = try prepared(seed)
            let connection = bench.connection
            var player = Player(bench, bytes: 0) {
                try PlainStore(SyncStore(connection: connection, now: $0)).perform($1)
            }
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
            let line = DataLine(bucket: buckets[bucket], operations: OperationList(operations))
            return .data(try StorableLine(line, size: SyncLine.data(line).encoded().count))
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
