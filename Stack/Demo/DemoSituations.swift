import PowerSync
import PowerSyncPostgres

/// The situations of the demo; each throws if what it promises does not come true in time.
extension DemoWorld {
    /// Texts that only the first user's rows hold.
    package static let secrets = ["Aubergines for Alice", "Bergamot for Alice", "Cardamom for Alice"]

    /// A local write on one device arrives on another of its user, and on nobody else's.
    package func localWriteArrives() async throws {
        timeline.chapter("A writes; Postgres, B and nobody else get it")
        let seed = """
            INSERT INTO lists (id, owner_id, name) VALUES ('cccccccc-0000-4000-8000-000000000001', 'carol', 'Carol''s');
            INSERT INTO todos (id, list_id, owner_id, description)
            SELECT gen_random_uuid(), 'cccccccc-0000-4000-8000-000000000001', 'carol', 'of Carol ' || n
            FROM generate_series(1, 3) n;
            """
        try await postgres.withConnection { _ = try await $0.script(seed) }
        for device in [a, b, c] { try await device.connect() }
        try await c.watch("SELECT id FROM todos", for: "C's own rows") { $0.count == 3 }
        timeline.event("C", "another user's device is connected and has her 3 todos")
        let user = a.user
        try await a.database.writeTransaction { transaction in
            let list = try transaction.get(sql: "SELECT uuid()", parameters: []) {
                try $0.getString(index: 0)
            }
            try transaction.execute(
                sql: "INSERT INTO lists (id, owner_id, name) VALUES (?, ?, ?)",
                parameters: [list, user, "Groceries"])
            for text in Self.secrets {
                try transaction.execute(
                    sql: "INSERT INTO todos (id, list_id, owner_id, description, quantity, completed) "
                        + "VALUES (uuid(), ?, ?, ?, 1, 0)",
                    parameters: [list, user, text])
            }
        }
        let visible = try await a.count("SELECT count(*) FROM todos")
        guard visible == Self.secrets.count else { throw StackError(.answer, "A does not see its own write") }
        let queued = try await a.count("SELECT coalesce(max(id), 0) FROM ps_crud")
        timeline.event(
            "A",
            "1 list and \(visible) todos inserted through the views, visible at once; \(queued) entries queued"
        )
        try await waitForPostgres(
            "SELECT count(*) FROM todos WHERE owner_id = $1", [user], is: "\(Self.secrets.count)",
            for: "A's rows in Postgres")
        timeline.event("Postgres", "committed through POST /api/data, one transaction")
        try await b.watch("SELECT description FROM todos ORDER BY description", for: "A's rows on B") {
            $0 == Self.secrets
        }
        timeline.event("B", "a watched query shows them")
        let rows = try await converge()
        timeline.event("A", "the write checkpoint passed: A = B = Postgres, \(rows.count) rows")
        try await checkThirdDevice()
    }

    /// The third device holds its user's rows and no trace of the others.
    package func checkThirdDevice() async throws {
        guard try await c.rows() == rowsInPostgres(of: c.user) else {
            throw StackError(.answer, "C does not hold exactly its own user's rows")
        }
        let texts = try await a.database.getAll("SELECT description FROM todos LIMIT 50") {
            try $0.getString(index: 0)
        }
        guard try c.textsInFiles(Self.secrets + texts).isEmpty else {
            throw StackError(.answer, "a text of A stands in the files of C")
        }
        guard try !texts.isEmpty && b.textsInFiles(texts).count == Set(texts).count else {
            throw StackError(.answer, "the search for texts in files does not work: B's files lack A's texts")
        }
        timeline.event("C", "holds exactly its own rows; none of A's texts occurs in its files")
    }

    /// Two devices edit while one of them is cut off, and agree afterwards.
    package func editsWhileCutOffConverge() async throws {
        timeline.chapter("A is cut off; both edit; the cut heals")
        let ids = try await a.watch("SELECT id FROM todos ORDER BY description", for: "todos on A") {
            $0.count >= 3
        }
        a.cutOff()
        timeline.event("A", "every connection cut, new ones refused; the app calls no disconnect()")
        _ = try await a.database.writeTransaction { transaction in
            let update = "UPDATE todos SET description = ? WHERE id = ?"
            try transaction.execute(sql: update, parameters: ["same row, from A", ids[0]])
            try transaction.execute(sql: update, parameters: ["only from A", ids[1]])
        }
        _ = try await b.database.writeTransaction { transaction in
            try transaction.execute(
                sql: "UPDATE todos SET description = ?, quantity = 7 WHERE id = ?",
                parameters: ["same row, from B", ids[0]])
            try transaction.execute(
                sql: "UPDATE todos SET completed = 1 WHERE id = ?", parameters: [ids[2]])
        }
        timeline.event("A", "edits two rows offline; they wait in ps_crud")
        timeline.event("B", "edits the same row and another one")
        try await waitForPostgres(
            "SELECT description FROM todos WHERE id = $1", [ids[0]], is: "same row, from B",
            for: "B's edit in Postgres")
        timeline.event("Postgres", "has B's edits")
        guard try await a.count("SELECT count(*) FROM ps_crud") == 2 else {
            throw StackError(.answer, "A's offline edits are not in its queue")
        }
        a.heal()
        timeline.event("A", "the network is back")
        let rows = try await converge()
        guard rows.contains(where: { $0.contains("same row, from A|7|") }),
            rows.contains(where: { $0.contains("|only from A|") })
        else { throw StackError(.answer, "an offline edit was lost") }
        timeline.event("A = B", "both edits of the shared row live on: A's text, B's quantity")
    }

    /// A row that Postgres refuses is kept by the backend and leaves the device; what is queued behind it arrives.
    package func refusedRowIsKept() async throws {
        timeline.chapter("A writes a row that Postgres refuses, and a good one behind it")
        let user = a.user
        let list = try await a.watch("SELECT id FROM lists", for: "A's list") { !$0.isEmpty }[0]
        let insert =
            "INSERT INTO todos (id, list_id, owner_id, description, quantity, completed) VALUES (uuid(), ?, ?, ?, ?, 0)"
        _ = try await a.database.writeTransaction { transaction in
            try transaction.execute(sql: insert, parameters: [list, user, "minus one", -1])
        }
        let visible = try await a.count("SELECT count(*) FROM todos WHERE description = 'minus one'")
        guard visible == 1 else { throw StackError(.answer, "A does not see the row it wrote") }
        timeline.event("A", "quantity -1 is visible on A: SQLite knows nothing of the server's CHECK")
        _ = try await a.database.writeTransaction { transaction in
            try transaction.execute(sql: insert, parameters: [list, user, "right behind it", 2])
        }
        try await waitForPostgres(
            "SELECT count(*) FROM todos WHERE description = 'right behind it'", is: "1",
            for: "the valid row behind the refused one")
        let refusal = try await Deadline.wait(DemoWorld.patience, for: "the backend's verdict") {
            a.refusals.last
        }
        guard refusal.code == "CHECK_VIOLATION" else {
            throw StackError(.answer, "the backend refused with \(refusal.code ?? "no code")")
        }
        timeline.event("Backend", "refused inside a 200: CHECK_VIOLATION; the row behind it is committed")
        let letters = try await query(
            "SELECT sqlstate, error_code FROM psb.dead_letters WHERE user_id = $1", [user])
        guard letters.rowCount == 1, letters[0, 0] == "23514", letters[0, 1] == "CHECK_VIOLATION" else {
            throw StackError(.answer, "psb.dead_letters does not hold the refused row")
        }
        timeline.event("Postgres", "psb.dead_letters keeps it with SQLSTATE 23514")
        try await a.watch(
            "SELECT id FROM todos WHERE description = 'minus one'", for: "the refused row to go"
        ) {
            $0.isEmpty
        }
        timeline.event("A", "the refused row is gone with the next checkpoint")
        try await converge()
    }

    /// Many rows that came into being in Postgres reach both devices.
    ///
    /// - Parameter count: how many.
    /// - Throws: `StackError` if they do not, and errors of Postgres and of the clients.
    package func manyRowsArrive(_ count: Int = 10_000) async throws {
        timeline.chapter("\(count) rows are inserted straight into Postgres")
        let list = try await a.watch("SELECT id FROM lists", for: "A's list") { !$0.isEmpty }[0]
        let before = try await b.count("SELECT count(*) FROM todos")
        _ = try await query(
            """
            INSERT INTO todos (id, list_id, owner_id, description, quantity)
            SELECT gen_random_uuid(), $1, $2, 'row ' || n || ' of many', n FROM generate_series(1, $3::int) n
            """, [list, a.user, String(count)])
        timeline.event("Postgres", "INSERT … SELECT FROM generate_series(1, \(count)) committed")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in [a, b] { group.addTask { await self.showProgress(device) } }
            defer { group.cancelAll() }
            async let first: Void = arrive(on: a, total: before + count)
            async let second: Void = arrive(on: b, total: before + count)
            _ = try await (first, second)
        }
        try await converge()
    }

    private func arrive(on device: DemoDevice, total: Int) async throws {
        try await device.watch("SELECT id FROM todos", for: "\(total) todos") {
            $0.count == total
        }
        timeline.event(device.name, "shows all \(total) todos")
    }

    private func showProgress(_ device: DemoDevice) async {
        for await status in device.database.currentStatus.asFlow() {
            guard let progress = status.downloadProgress else { continue }
            timeline.progress(
                device.name, done: Int(progress.downloadedOperations), total: Int(progress.totalOperations))
        }
    }
}
