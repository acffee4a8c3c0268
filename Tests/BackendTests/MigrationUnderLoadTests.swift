import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Migrations while devices upload rows of the old and of the new shape to two backends, one of them a process (backend
/// 3.1, 8.5).
///
/// `POWERSYNC_MIGRATION_ANSWERS` says how many answers there are before and behind each step.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .namesSeed)
struct MigrationUnderLoadTests {
    private static let pace = TestOptions.number("POWERSYNC_MIGRATION_ANSWERS", standard: 20)

    private static let schema = """
        CREATE TABLE items (id text PRIMARY KEY, amount integer, note text, name text, extra text);
        CREATE TABLE things (id text PRIMARY KEY, name text);
        CREATE TABLE spares (id text PRIMARY KEY, name text);
        CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
        """

    /// What an app of some version sends: rows with one column beside the id, with `#` for the row's own number.
    private struct Shape: Sendable, Hashable {
        let table: String
        let column: String
        let value: String
        /// `+` for each schema that takes it, `-` for each that does not, from the first on.
        let taken: String
        /// Where its rows are at the end; nil if nowhere.
        var home: String?
        /// What the value is at the end, in SQL; nil if nobody knows.
        var rest: String?

        init(
            _ table: String, _ column: String, _ value: String, _ taken: String, home: String?, rest: String?
        ) {
            self.table = table
            self.column = column
            self.value = value
            self.taken = taken
            self.home = home
            self.rest = rest
        }

        func isTaken(by schemas: ClosedRange<Int>) -> Bool { has("+", in: schemas) }

        func isRefused(by schemas: ClosedRange<Int>) -> Bool { has("-", in: schemas) }

        private func has(_ mark: Character, in schemas: ClosedRange<Int>) -> Bool {
            zip(0..., taken).contains { schemas.contains($0) && $1 == mark }
        }

        func operation(_ row: String, _ number: Int) -> String {
            let value = value.replacing("#", with: String(number))
            return
                #"{"op_id":\#(number),"op":"PUT","table":"\#(table)","id":"\#(row)","data":{"\#(column)":\#(value)}}"#
        }

        func text(_ number: Int) -> String {
            value.replacing("#", with: String(number)).replacing("\"", with: "")
        }
    }

    /// A step, and the shapes that are uploaded above all before and behind it.
    private struct Step: Sendable {
        let sql: String
        let shapes: [Shape]
    }

    /// A transaction, what came of it, and the numbers of the schemas that there may have been meanwhile.
    private struct Upload: Sendable {
        let device: String
        let numbers: [Int]
        let shape: Shape
        let outcome: UploadingDevice.Outcome
        /// Since it was sent first.
        let schemas: ClosedRange<Int>
        /// Since it was sent last.
        let lastSchemas: ClosedRange<Int>

        static func row(_ device: String, _ number: Int) -> String { "\(device)-\(number)" }
    }

    private struct Progress {
        var step = 0
        var begun = 0
        var done = 0
        var answers = 0
        var isOver = false
    }

    // MARK: Tests

    private static let names = #""n#""#
    private static let amount = Shape("items", "amount", "#", "+++++++++", home: "items", rest: "amount")

    /// Names that vanish come back while a migration may be on its way.
    @Test(arguments: [nil, "tables: { items: , things: }\n"])
    func whatIsOnItsWayRejectsNothing(map: String?) async throws {
        let either = "coalesce(name, title)"
        let old = Shape("items", "name", Self.names, "+-+++++++", home: "items", rest: either)
        let new = Shape("items", "title", Self.names, "-+-++++++", home: "items", rest: either)
        let extra = Shape("items", "extra", Self.names, "++++-++++", home: "items", rest: nil)
        let thing = Shape("things", "name", Self.names, "++++++-++", home: "things", rest: "name")
        let large = Shape("items", "amount", "3000000000#", "--------+", home: "items", rest: "amount")
        let uploads = try await migrate(
            [
                Step(sql: "ALTER TABLE items RENAME name TO title", shapes: [old, new]),
                Step(sql: "ALTER TABLE items RENAME title TO name", shapes: [old, new]),
                Step(sql: "ALTER TABLE items ADD COLUMN title text", shapes: [old, new]),
                Step(sql: "ALTER TABLE items DROP COLUMN extra", shapes: [extra]),
                Step(sql: "ALTER TABLE items ADD COLUMN extra text", shapes: [extra]),
                Step(sql: "ALTER TABLE things RENAME TO elsewhere", shapes: [thing]),
                Step(sql: "ALTER TABLE elsewhere RENAME TO things", shapes: [thing]),
                Step(sql: "ALTER TABLE items ALTER amount TYPE bigint", shapes: [large]),
            ], map: map)
        for upload in uploads where ![new, large].contains(upload.shape) {
            #expect(!upload.outcome.isRejected, "\(upload.shape): \(upload.outcome.result.text)")
        }
    }

    /// One of the backends waits for no name that has vanished; sooner or later everybody comes to it.
    @Test(arguments: [nil, "tables: { items: , things: , spares: }\n"])
    func whatTheSchemaRefusesIsInTheDeadLettersAndNothingElse(map: String?) async throws {
        func item(_ column: String, _ value: String, _ taken: String, rest: String?) -> Shape {
            Shape("items", column, value, taken, home: "items", rest: rest)
        }
        func table(_ name: String, _ taken: String, home: String?) -> Shape {
            Shape(name, "name", Self.names, taken, home: home, rest: "name")
        }
        let digits = "ALTER note TYPE integer USING CASE WHEN note ~ '^[0-9]+$' THEN note::integer END"
        var steps = [
            Step(
                sql: "ALTER TABLE items ADD COLUMN color text",
                shapes: [item("color", Self.names, "-++++++++", rest: "color")]),
            Step(
                sql: "ALTER TABLE items ALTER amount TYPE bigint",
                shapes: [item("amount", "3000000000#", "--+++++++", rest: "amount")]),
            Step(
                sql: "ALTER TABLE items \(digits)",
                shapes: [
                    item("note", Self.names, "+++------", rest: nil),
                    item("note", "#", "+++++++++", rest: "note"),
                ]),
            Step(
                sql: "ALTER TABLE items RENAME name TO title",
                shapes: [
                    item("name", Self.names, "++++-----", rest: "title"),
                    item("title", Self.names, "----+++++", rest: "title"),
                ]),
            Step(
                sql: "ALTER TABLE items DROP COLUMN extra",
                shapes: [item("extra", Self.names, "+++++----", rest: nil)]),
            Step(sql: "DROP TABLE spares", shapes: [table("spares", "++++++---", home: nil)]),
            Step(
                sql: "ALTER TABLE things RENAME TO objects",
                shapes: [table("things", "+++++++--", home: "objects")]
            ),
        ]
        if map == nil {
            // What is published may be written; a table that is in no map may not.
            steps[6] = Step(
                sql: steps[6].sql, shapes: steps[6].shapes + [table("objects", "-------++", home: "objects")])
            steps.append(
                Step(
                    sql: "CREATE TABLE more (id text PRIMARY KEY, name text)",
                    shapes: [table("more", "--------+", home: "more")]))
        }
        let uploads = try await migrate(steps, map: map) { $0.retries.driftGrace = .zero }
        let hasRejected = uploads.contains { $0.outcome.isRejected }
        #expect(hasRejected)
    }

    // MARK: Under load

    /// Does the steps while devices upload, and compares all that there is then with what was answered.
    private func migrate(
        _ steps: [Step], map: String?, _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) async throws -> [Upload] {
        var uploads: [Upload] = []
        try await BackendProcess.with(schema: Self.schema, map: map) { process, uri in
            try await TestBackend.with(schema: "SELECT 1", uri: uri, map: map, change) { backend in
                let start = ContinuousClock.now
                uploads = try await stream(
                    steps, to: [backend.backend.port, process.port], backend)
                let time = ContinuousClock.now - start
                let rejected = uploads.count { $0.outcome.isRejected }
                print("migrations: \(uploads.count) transactions in \(time), \(rejected) rejected")
                for upload in uploads { expectRightful(upload) }
                try await expectRows(of: uploads, in: backend)
                try await expectLetters(of: uploads, in: backend)
            }
        }
        return uploads
    }

    private func stream(
        _ steps: [Step], to ports: [Int], _ backend: TestBackend
    ) async throws -> [Upload] {
        let progress = Lock(Progress())
        let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
        func waitForAnswers() async throws {
            let wanted = progress.withLock { $0.answers } + Self.pace
            try await wait(
                for: "answers to uploads", read: { progress.withLock { $0.answers } }, until: { $0 >= wanted }
            )
        }
        return try await withThrowingTaskGroup(of: [Upload].self) { group in
            for number in 0..<6 {
                group.addTask {
                    let device = try await UploadingDevice("d\(number)", ports: ports)
                    return try await Self.run(device, steps, progress, SeededRandom(seed: number))
                }
            }
            defer { progress.withLock { $0.isOver = true } }
            for (index, step) in steps.enumerated() {
                progress.withLock { $0.step = index }
                try await waitForAnswers()
                progress.withLock { $0.begun += 1 }
                try await connection.script(step.sql)
                progress.withLock { $0.done += 1 }
                try await waitForAnswers()
            }
            progress.withLock { $0.isOver = true }
            await connection.close()
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func run(
        _ device: UploadingDevice, _ steps: [Step], _ progress: Lock<Progress>, _ seeded: SeededRandom
    ) async throws -> [Upload] {
        var random = seeded
        var uploads: [Upload] = []
        var last = 0
        while let step = progress.withLock({ $0.isOver ? nil : $0.step }) {
            let shape = random.pick(
                weighted: [
                    (2, amount), (4, random.pick(steps[step].shapes)),
                    (1, random.pick(steps.flatMap(\.shapes))),
                ])
            let numbers = (1...(1 + random.below(3))).map { last + $0 }
            last = numbers[numbers.count - 1]
            let operations = numbers.map { shape.operation(Upload.row(device.name, $0), $0) }
            var firstDone: Int?
            var lastDone = 0
            let outcomes = try await device.upload(
                ["[" + operations.joined(separator: ",") + "]"], first: random.below(2),
                willSend: {
                    lastDone = progress.withLock { $0.done }
                    firstDone = firstDone ?? lastDone
                }, didAnswer: { progress.withLock { $0.answers += 1 } })
            let begun = progress.withLock { $0.begun }
            uploads.append(
                Upload(
                    device: device.name, numbers: numbers, shape: shape, outcome: outcomes[0],
                    schemas: (firstDone ?? lastDone)...begun, lastSchemas: lastDone...begun))
        }
        return uploads
    }

    // MARK: What must have come of it

    /// Each verdict is that of a schema which there was when it was given.
    private func expectRightful(_ upload: Upload) {
        let outcome = upload.outcome
        if outcome.isRejected {
            #expect(upload.shape.isRefused(by: upload.lastSchemas), "\(upload)")
            let codes = ["UNKNOWN_TABLE", "UNKNOWN_COLUMN", "SCHEMA_MISMATCH", "INVALID_DATA"]
            #expect(codes.contains(outcome.errorCode ?? ""), "\(upload)")
        } else {
            #expect(upload.shape.isTaken(by: upload.schemas), "\(upload)")
            #expect(outcome.states.count == upload.numbers.count)
        }
    }

    private func expectRows(of uploads: [Upload], in backend: TestBackend) async throws {
        let applied = uploads.filter { !$0.outcome.isRejected }
        for home in Set(applied.compactMap(\.shape.home)) {
            let there = applied.filter { $0.shape.home == home }
            let seen = try await backend.query("SELECT id FROM \(home) ORDER BY id COLLATE \"C\"").map {
                $0[0]
            }
            let expected = there.flatMap { upload in upload.numbers.map { Upload.row(upload.device, $0) } }
            #expect(seen.compactMap(\.self) == expected.sorted())
            for rest in Set(there.compactMap(\.shape.rest)) {
                let rows = try await backend.query("SELECT id, (\(rest))::text FROM \(home)")
                let values = Dictionary(rows.map { ($0[0] ?? "", $0[1]) }) { first, _ in first }
                for upload in there where upload.shape.rest == rest {
                    for number in upload.numbers {
                        let value = values[Upload.row(upload.device, number)] ?? nil
                        #expect(value == upload.shape.text(number), "\(upload)")
                    }
                }
            }
        }
    }

    private func expectLetters(of uploads: [Upload], in backend: TestBackend) async throws {
        let seen = try await backend.query(
            "SELECT id, client_id || ' ' || first_op_id || ' ' || last_op_id FROM psb.dead_letters ORDER BY id"
        )
        let expected: [[String?]] = uploads.filter(\.outcome.isRejected).map { upload in
            [
                upload.outcome.rejectionID,
                "\(upload.device) \(upload.numbers[0]) \(upload.numbers[upload.numbers.count - 1])",
            ]
        }
        #expect(seen == expected.sorted { ($0[0] ?? "") < ($1[0] ?? "") })
    }
}
