import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the commands of a prompt do.
extension ClientPrompt {
    /// How many entries of the upload queue are shown.
    private static let shownEntries: Int32 = 10
    /// The least time between two results of a watched query, in seconds: for a person.
    private static let watchThrottle = 0.1

    /// Does what a command says.
    ///
    /// - Throws: what the SDK throws.
    func perform(_ command: DotCommand) async throws {
        switch command {
        case .help: await help()
        case .status: try await showStatus()
        case .tables: try await showTables()
        case .schema(let table): try await showColumns(of: table)
        case .connect:
            board.change { status in
                status.isWanted = true
                // Where a stream is open it is replaced, which is no loss.
                status.isConnected = false
            }
            do {
                try await operations.connect()
            } catch {
                // What synced before has ended, unless nothing of this was done.
                let status = operations.database.currentStatus
                board.change { known in
                    known.take(status)
                    known.isWanted = status.connected || status.connecting || status.isSyncedElsewhere
                }
                throw error
            }
        case .disconnect:
            board.change { $0.isWanted = false }
            try await operations.disconnect()
            await console.show("disconnected")
        case .clear(let soft): try await clear(soft: soft)
        case .stream(let stream):
            try await operations.subscribe(to: stream)
            await console.show("subscribed")
        case .unstream(let stream, let all):
            guard try await operations.unsubscribe(from: stream, all: all) else {
                throw ClientError(
                    "no such stream was subscribed to here; --all ends what others have asked for")
            }
            await console.show("given up")
        case .streams: try await showStreams()
        case .watch(let sql): try await watch(sql)
        case .unwatch(let number):
            let ended = await watches.end(number)
            if ended.isEmpty { throw ClientError("there is no such watch") }
            await console.show("ended: " + ended.map { "watch \($0)" }.joined(separator: ", "))
        case .queue: try await showQueue()
        case .discard:
            let count = try await operations.discard()
            await console.show("discarded: \(Self.counted(count, "change"))")
        case .attachments: try await showAttachments()
        case .attach(let file, let sql): try await attach(file, sql)
        case .export(let id, let file): try await export(id, to: file)
        case .detach(let id, let sql): try await detach(id, sql)
        case .wait(let condition, let seconds):
            let start = ContinuousClock.now
            try await operations.wait(for: condition, timeout: seconds)
            await console.show("\(condition.name) after \(Self.spelled(ContinuousClock.now - start))")
        case .mode(let form): self.form.withLock { $0 = form }
        case .quit: preconditionFailure("whoever takes lines ends with this one")
        }
    }

    private func help() async {
        let width = DotCommand.usages.reduce(0) { max($0, $1.usage.count) }
        let lines = DotCommand.usages.map { usage, help in
            usage + String(repeating: " ", count: width - usage.count + 2) + help
        }
        await console.show(
            """
            SQL ends with a semicolon, on the same line or a later one. Each statement is one transaction.

            \(lines.joined(separator: "\n"))

            Arrow up brings back what was typed, also in earlier runs, but for what begins with a space.
            Ctrl-C gives up a line, or ends what runs.
            """)
    }

    private func clear(soft: Bool) async throws {
        let lost = try await operations.database.getUploadQueueStats().count
        board.change { $0.isWanted = false }
        try await operations.clear(soft: soft)
        let note = lost > 0 ? "; \(Self.counted(lost, "change")) had not been uploaded" : ""
        await console.show("cleared\(note)")
    }

    // MARK: Syncing

    private func showStatus() async throws {
        let status = try await operations.status()
        let queued = try await operations.database.getUploadQueueStats().count
        var known = board.current
        known.take(status)
        var facts = [
            ("connection", known.connection), ("service", ShownText.address(options.endpoint)),
            ("database", options.database),
            ("last synced", known.lastSyncedAt.map(LocalTime.dayAndClock) ?? "never"),
            ("to upload", Self.counted(queued, "change") + (status.uploading ? ", uploading" : "")),
        ]
        if let progress = known.progress {
            let share = "\(progress.percent) %, \(progress.downloaded) of \(progress.total) operations"
            facts.append(("downloading", share))
        }
        if let error = known.downloadError { facts.append(("download error", error)) }
        if let error = known.uploadError { facts.append(("upload error", error)) }
        let width = facts.reduce(0) { max($0, $1.0.count) }
        let lines = facts.map { name, fact in
            name + String(repeating: " ", count: width - name.count + 2) + DisplayText.of(fact)
        }
        await console.show(lines.joined(separator: "\n"))
    }

    private func showStreams() async throws {
        let streams = try await operations.status().syncStreams ?? []
        let rows = streams.map { stream -> [SQLiteValue] in
            let subscription = stream.subscription
            return [
                .text(subscription.name), SQLiteValue(subscription.parameters.map { $0.json.text }),
                .text(
                    subscription.hasExplicitSubscription
                        ? "subscribed" : subscription.isDefault ? "by default" : "no longer"),
                .text(subscription.active ? "yes" : "no"), time(subscription.lastSyncedAt),
                time(subscription.expiresAt),
            ]
        }
        await show(["stream", "parameters", "wanted", "active", "synced", "ends"], rows)
    }

    private func time(_ seconds: TimeInterval?) -> SQLiteValue {
        SQLiteValue(seconds.map { LocalTime.dayAndClock(Date(timeIntervalSince1970: $0)) })
    }

    private func showQueue() async throws {
        let stats = try await operations.database.getUploadQueueStats(includeSize: true)
        let entries = try await operations.database.getCrudBatch(limit: Self.shownEntries)?.crud ?? []
        let rows = entries.map { entry -> [SQLiteValue] in
            [
                .integer(entry.clientId), SQLiteValue(entry.transactionId), .text(entry.op.rawValue),
                .text(entry.table), .text(entry.id), SQLiteValue(entry.opDataTyped.map { $0.json.text }),
            ]
        }
        var summary = "(\(Self.counted(stats.count, "change")) to upload"
        if let size = stats.size, stats.count > 0 { summary += ", about \(size) bytes" }
        if stats.count > rows.count { summary += ", the first \(rows.count) shown" }
        await show(
            ResultTable(columns: ["entry", "transaction", "op", "table", "id", "data"], rows: rows),
            summary + ")")
    }

    // MARK: Tables

    /// What there is beside what the SDK and SQLite keep for themselves (client-core 1.1).
    ///
    /// The SDK's are named exactly, by their case, too: a table of the schema may begin with ps_ as well. What it makes of
    /// those is a view, as none of its own is.
    private static let ownTables = """
        FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            AND (type = 'view' OR name NOT GLOB 'ps_data__*' AND name NOT GLOB 'ps_data_local__*'
                AND name NOT IN ('ps_buckets', 'ps_crud', 'ps_kv', 'ps_migration', 'ps_oplog',
                    'ps_stream_subscriptions', 'ps_sync_state', 'ps_tx', 'ps_untyped', 'ps_updated_rows'))
        """

    private func showTables() async throws {
        let names = try await operations.database.getAll("SELECT name \(Self.ownTables) ORDER BY name") {
            try $0.getString(index: 0)
        }
        await show(["table", "kind"], names.map { [.text($0), .text(kind(of: $0))] })
    }

    private func kind(of name: String) -> String {
        if let table = options.schema.tables.first(where: { $0.viewName == name }) {
            return table.localOnly ? "local only" : table.insertOnly ? "insert only" : "synced"
        }
        let isRaw = options.schema.rawTables.contains { ($0.schema?.tableName ?? $0.name) == name }
        return isRaw ? "raw" : "not synced"
    }

    private func showColumns(of table: String?) async throws {
        let rows = try await operations.database.getAll(
            sql: """
                SELECT owner.name, item.name, ifnull(item.type, '')
                FROM (SELECT name \(Self.ownTables)) AS owner, pragma_table_info(owner.name) AS item
                WHERE ?1 IS NULL OR owner.name = ?1 COLLATE NOCASE ORDER BY owner.name, item.cid
                """,
            parameters: [table]
        ) { cursor in
            try (0..<3).map { try cursor.getString(index: $0) }
        }
        if let table, rows.isEmpty {
            throw ClientError("there is no table \(DisplayText.of(table)); .tables lists them")
        }
        await show(
            ["table", "column", "type"],
            rows.map { [.text($0[0]), .text($0[1]), .text(type(of: $0[1], in: $0[0]) ?? $0[2])] })
    }

    /// Returns the type of a column that the schema tells; SQLite knows none of a view's.
    private func type(of column: String, in table: String) -> String? {
        guard let table = options.schema.tables.first(where: { $0.viewName == table }) else { return nil }
        if column == "id" { return "text" }
        return table.columns.first { $0.name == column }.map { "\($0.type)" }
    }

    /// Shows rows that no query of the person gave.
    func show(_ columns: [String], _ rows: [[SQLiteValue]]) async {
        await show(ResultTable(columns: columns, rows: rows), rows.isEmpty ? "(none)" : nil)
    }

    // MARK: Watches

    /// Begins to show a query, and waits for its first result.
    private func watch(_ sql: String) async throws {
        let rows = TableRows(limit: console.rowLimit)
        let first = AsyncValue<Result<Void, any Error>?>(nil)
        let number = watches.begin { number in
            do {
                try await operations.watch(
                    ClientStatement(sql), throttle: Self.watchThrottle, before: { rows.reset() },
                    mapper: { try rows.take($0) }
                ) { _ in
                    await showResult(rows, of: number)
                    first.change { $0 = .success(()) }
                }
                // The database is closed.
                throw CancellationError()
            } catch {
                let isFirst = first.change { result in
                    defer { result = result ?? .failure(error) }
                    return result == nil
                }
                if !isFirst, !Task.isCancelled, !(error is CancellationError) {
                    await fail("watch \(number): \(PromptFailure.text(of: error))", line: nil)
                }
            }
        }
        guard let number else { throw ClientError("\(PromptWatches.limit) watches are open") }
        do {
            try await first.wait { $0 != nil }?.get()
        } catch {
            _ = await watches.end(number)
            throw error
        }
        await console.show("watch \(number); .unwatch \(number) ends it")
    }

    private func showResult(_ rows: TableRows, of number: Int) async {
        let table = rows.table
        let rest = rows.count > table.rows.count ? ", the first \(table.rows.count) shown" : ""
        let count = rows.count == 0 ? "no rows" : Self.counted(rows.count, "row")
        await show(table, "(watch \(number): \(count)\(rest))")
    }
}
