import PowerSyncBackend
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Answers to COMMIT that are lost on their way to the backend, while devices upload (backend 3.1, 3.3, 3.5).
///
/// `POWERSYNC_LOST_COMMITS` says how many; of ten the connection is cut behind nine, and silent from then on behind one.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .namesSeed)
struct LostCommitTests {
    private static let count = TestOptions.number("POWERSYNC_LOST_COMMITS", standard: 20)

    private static let schema = """
        CREATE TABLE lists (id text PRIMARY KEY, name text NOT NULL CHECK (name NOT LIKE 'bad%'));
        CREATE TABLE writes (mark text);
        CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'DELETE' THEN INSERT INTO public.writes VALUES ('deleted ' || OLD.name);
            ELSE INSERT INTO public.writes VALUES (NEW.name); END IF;
            RETURN NULL; END $$;
        CREATE TRIGGER counts AFTER INSERT OR UPDATE OR DELETE ON lists FOR EACH ROW EXECUTE FUNCTION count_write();
        """

    /// What is under way while an answer is lost.
    private enum Load: CaseIterable {
        case applied, rejected, mixed, withoutIDs, rejectedWithoutIDs
    }

    private struct Operation {
        let number: Int
        let kind: UploadOperationKind
        let row: String
        let name: String
        /// A column that there is not, beside a name that the table refuses.
        var hasUnknownColumn = false

        var isBad: Bool { hasUnknownColumn || name.hasPrefix("bad") }

        func json(hasID: Bool) -> String {
            let id = hasID ? #""op_id":\#(number),"# : ""
            let more = hasUnknownColumn ? #","nothing":1"# : ""
            let data = kind == .delete ? "" : #","data":{"name":"\#(name)"\#(more)}"#
            return #"{\#(id)"op":"\#(kind.rawValue)","table":"lists","id":"\#(row)"\#(data)}"#
        }
    }

    private struct Upload {
        let transactions: [[Operation]]
        let hasIDs: Bool

        var bodies: [String] {
            transactions.map { operations in
                "[" + operations.map { $0.json(hasID: hasIDs) }.joined(separator: ",") + "]"
            }
        }
    }

    /// What a device has uploaded, and what must have come of it.
    private struct Model {
        let device: Int
        private var lastNumber = 0
        private(set) var rows: [String: String] = [:]
        /// What the trigger has written, and how often.
        private(set) var writes: [String: ClosedRange<Int>] = [:]
        /// The rows of rejected operations, each its own, and how many letters there are.
        private(set) var letters: [String: ClosedRange<Int>] = [:]

        init(device: Int) { self.device = device }

        mutating func upload(_ load: Load, _ random: inout SeededRandom) -> Upload {
            let hasIDs =
                switch load {
                case .applied, .rejected: true
                case .withoutIDs, .rejectedWithoutIDs: false
                case .mixed: random.once(in: 2)
                }
            let transactions = (0..<(hasIDs ? 1 + random.below(3) : 1)).map { _ in
                let isBad =
                    switch load {
                    case .applied, .withoutIDs: false
                    case .rejected, .rejectedWithoutIDs: true
                    case .mixed: random.once(in: 3)
                    }
                return transaction(isBad: isBad, hasIDs: hasIDs, &random)
            }
            return Upload(transactions: transactions, hasIDs: hasIDs)
        }

        private mutating func transaction(
            isBad: Bool, hasIDs: Bool, _ random: inout SeededRandom
        ) -> [Operation] {
            var left = (0..<6).map { "d\(device).r\($0)" }
            var operations: [Operation] = []
            let length = 1 + random.below(5)
            let culprit = isBad ? random.below(length) : -1
            for index in 0..<length {
                lastNumber += 1
                let mark = "d\(device).\(lastNumber)"
                guard index != culprit else {
                    let hasUnknownColumn = random.once(in: 2)
                    operations.append(
                        Operation(
                            number: lastNumber, kind: .put, row: "bad \(mark)",
                            name: hasUnknownColumn ? mark : "bad \(mark)", hasUnknownColumn: hasUnknownColumn)
                    )
                    continue
                }
                let row = random.pick(left)
                // What may be done twice as a whole must come to the same.
                if !hasIDs { left.removeAll { $0 == row } }
                let kind = random.pick(
                    weighted: [(3, UploadOperationKind.put), (1, .patch), (1, .delete)])
                operations.append(Operation(number: lastNumber, kind: kind, row: row, name: mark))
            }
            return operations
        }

        /// Takes over what became of an upload.
        mutating func take(_ upload: Upload, _ outcomes: [UploadingDevice.Outcome]) {
            for (operations, outcome) in zip(upload.transactions, outcomes) {
                // Without ids nobody can tell a repetition, but those of the backend itself.
                let times = 1...(upload.hasIDs ? 1 : outcome.sent)
                let culprit = operations.firstIndex(where: \.isBad)
                #expect(outcome.isRejected == (culprit != nil))
                if let culprit {
                    letters[operations[culprit].row] = times
                    #expect(outcome.states == operations.map { $0.isBad ? "rejected" : "skipped" })
                    continue
                }
                let states = operations.map { apply($0, times) }
                if outcome.isReplayed {
                    #expect(outcome.states == states.map { _ in "replayed" })
                } else if times == 1...1 {
                    #expect(outcome.states == states)
                }
            }
        }

        private mutating func apply(_ operation: Operation, _ times: ClosedRange<Int>) -> String {
            let before = rows[operation.row]
            switch (operation.kind, before) {
            case (.patch, nil), (.delete, nil): return "noop"
            case (.delete, let before?):
                rows[operation.row] = nil
                writes["deleted \(before)"] = 1...1
            case (.put, _), (.patch, .some):
                rows[operation.row] = operation.name
                writes[operation.name] = times
            }
            return "applied"
        }
    }

    @Test func whatIsLostIsNeitherDoneTwiceNorForgotten() async throws {
        try await TestBackend.withRelay(
            schema: Self.schema, map: "tables: { lists: }\n", { $0.uploadTimes.transaction = .seconds(10) }
        ) { backend, relay in
            var devices: [UploadingDevice] = []
            for number in 0..<3 {
                devices.append(try await UploadingDevice("d\(number)", ports: [backend.backend.port]))
            }
            try await forEachSeed(1) { random in
                var models = devices.indices.map { Model(device: $0) }
                var longest: [PostgresRelay.Ending: Duration] = [:]
                let endings = (0..<Self.count).map { $0 % 10 == 9 ? PostgresRelay.Ending.silent : .cut }
                    .shuffled(using: &random)
                for (round, ending) in endings.enumerated() {
                    let load = Load.allCases[round % Load.allCases.count]
                    var uploads: [Upload] = []
                    for index in models.indices { uploads.append(models[index].upload(load, &random)) }
                    // Every transaction ends with a COMMIT: its own, or that of its rejection.
                    let commits = uploads.reduce(0) { $0 + $1.transactions.count }
                    relay.swallowCommits(1, then: ending, after: random.below(commits))
                    let start = ContinuousClock.now
                    let outcomes = try await Self.uploadAtOnce(devices, uploads)
                    longest[ending] = max(longest[ending] ?? .zero, .now - start)
                    try #require(relay.swallowed == round + 1)
                    if ending == .cut || load == .applied || load == .rejected {
                        let isReplayed = outcomes.joined().contains { $0.isReplayed }
                        #expect(isReplayed, "\(load), \(ending)")
                    }
                    for index in models.indices { models[index].take(uploads[index], outcomes[index]) }
                }
                print("lost commits: \(Self.count), the longest until everything was answered: \(longest)")
                try await expect(models, in: backend)
            }
        }
    }

    private static func uploadAtOnce(
        _ devices: [UploadingDevice], _ uploads: [Upload]
    ) async throws -> [[UploadingDevice.Outcome]] {
        try await withThrowingTaskGroup(of: (Int, [UploadingDevice.Outcome]).self) { group in
            for (index, device) in devices.enumerated() {
                let (bodies, hasIDs) = (uploads[index].bodies, uploads[index].hasIDs)
                group.addTask { (index, try await device.upload(bodies, hasIDs: hasIDs)) }
            }
            return try await group.reduce(into: Array(repeating: [], count: devices.count)) {
                $0[$1.0] = $1.1
            }
        }
    }

    private func expect(_ models: [Model], in backend: TestBackend) async throws {
        func read(_ sql: String) async throws -> [String: String] {
            let rows = try await backend.query(sql)
            return Dictionary(rows.map { ($0[0] ?? "", $0[1] ?? "") }) { first, _ in first }
        }
        let rows: [String: String] = models.reduce(into: [:]) { $0.merge($1.rows) { first, _ in first } }
        #expect(try await read("SELECT id, name FROM lists") == rows)
        let writes = try await read("SELECT mark, count(*)::text FROM writes GROUP BY mark")
        Self.expect(writes, models.reduce(into: [:]) { $0.merge($1.writes) { first, _ in first } })
        let letters = try await read(
            "SELECT row_id, count(*)::text FROM psb.dead_letters GROUP BY row_id")
        Self.expect(letters, models.reduce(into: [:]) { $0.merge($1.letters) { first, _ in first } })
    }

    private static func expect(_ seen: [String: String], _ expected: [String: ClosedRange<Int>]) {
        for name in Set(seen.keys).union(expected.keys).sorted() {
            let times = seen[name].flatMap { Int($0) } ?? 0
            #expect(expected[name]?.contains(times) == true, "\(name): \(times) times")
        }
    }
}
