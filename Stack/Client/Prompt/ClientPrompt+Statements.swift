import PowerSync
import PowerSyncSystem

/// How a prompt runs a statement, and shows what it gives.
extension ClientPrompt {
    /// How a statement ended.
    enum Ending {
        case done, failed, interrupted
    }

    /// How many lines a person is shown at a time: what is on its way when Ctrl-C comes is shown all the same.
    private static let linesAtATime = 100
    private static let partShown = "interrupted: the statement is done, but not all of it is shown"

    /// Runs statements that were asked for together, one after the other; none behind one that is interrupted.
    func execute(_ statements: [StatementCollector.Statement]) async {
        for statement in statements {
            if await execute(statement) == .interrupted { return }
        }
    }

    /// Runs a statement and shows what it gives.
    @discardableResult
    func execute(_ statement: StatementCollector.Statement) async -> Ending {
        let start = ContinuousClock.now
        do {
            if let failure = statement.failure { throw ClientError(failure) }
            if let refusal = statement.refusal { throw ClientError(refusal) }
            let rows = TableRows(limit: console.rowLimit)
            let outcome = try await interruptible { try await query(statement, rows) }
            let spent = ContinuousClock.now - start
            if try await interruptible({ await show(outcome, rows, took: spent) }) { return .done }
            if !Task.isCancelled { await fail(Self.partShown, line: statement.line) }
            return .interrupted
        } catch {
            // The end of the program needs no line.
            if Task.isCancelled { return .interrupted }
            await fail(PromptFailure.text(of: error), line: statement.line)
            return error is CancellationError ? .interrupted : .failed
        }
    }

    /// Runs a statement where nothing can be written, if it may be a query; in a transaction if it is none, and may be in one.
    private func query(
        _ statement: StatementCollector.Statement, _ rows: TableRows
    ) async throws -> StatementOutcome<Void> {
        let sql = ClientStatement(statement.sql)
        if statement.standsAlone { return try await operations.run(sql, mapper: { try rows.take($0) }) }
        if statement.mayRead {
            do {
                return try await operations.read(sql, mapper: { try rows.take($0) })
            } catch let error as PowerSyncError where error.code == .readOnly {
                rows.reset()
            }
        }
        return try await operations.write([sql], mapper: { try rows.take($0) })[0]
    }

    /// Shows what a statement gave; returns whether all of it was shown before the task was cancelled.
    private func show(
        _ outcome: StatementOutcome<Void>, _ rows: TableRows, took time: Duration
    ) async -> Bool {
        let spent = Self.spelled(time)
        switch outcome {
        // Writes to synced tables count as none: they are views (client-api 1.2).
        case .changes(let count) where count > 0:
            await console.show(dim("(\(Self.counted(Int(count), "row")) changed, \(spent))"))
            return true
        case .changes:
            await console.show(dim("(done, \(spent))"))
            return true
        case .rows:
            let table = rows.table
            let shown = table.rows.count
            let summary =
                switch rows.count {
                case 0: "(no rows, \(spent))"
                case shown: "(\(Self.counted(shown, "row")), \(spent))"
                default:
                    "(the first \(shown) of \(rows.count) rows, \(spent); LIMIT and OFFSET show others)"
                }
            return await show(table, summary)
        }
    }

    /// Shows a table, and a line below it; returns whether all of it was shown before the task was cancelled.
    @discardableResult
    func show(_ table: ResultTable, _ summary: String?) async -> Bool {
        var lines: [String] = []
        var isCut = false
        if !table.rows.isEmpty {
            let shown = table.shown(in: console.layout(form.withLock { $0 }))
            lines = shown.lines
            isCut = shown.isCut
        }
        if let summary { lines.append(dim(summary)) }
        if isCut { lines.append(dim("(… stands for the rest; .mode line shows whole values)")) }
        // A script has no Ctrl-C, and nothing shall stand within one of its tables.
        let count = console.isInteractive ? Self.linesAtATime : lines.count
        var rest = lines[...]
        while !rest.isEmpty {
            if Task.isCancelled { return false }
            await console.show(rest.prefix(count).joined(separator: "\n"))
            rest = rest.dropFirst(count)
        }
        return true
    }

    // MARK: Parts

    /// Returns a text that stands back.
    func dim(_ text: String) -> String { console.layout(.auto).style.dim(text) }

    /// Returns a count with its noun.
    static func counted(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }

    /// Returns a time in milliseconds, with tenths where they matter.
    static func spelled(_ time: Duration) -> String {
        let milliseconds = time / .milliseconds(1)
        guard milliseconds < 10 else { return "\(Int(milliseconds)) ms" }
        return "\((milliseconds * 10).rounded() / 10) ms"
    }
}
