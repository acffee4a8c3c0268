import CPowerSyncPQ

extension PostgresConnection {
    /// Runs a COPY … TO STDOUT and hands over its rows in batches, each row with its line end.
    ///
    /// A batch is what has arrived, at most about a megabyte; nothing more is read before `rows` returns, so a slow
    /// reader slows the server down. If `rows` throws, the COPY is stopped and its error thrown.
    /// `PostgresCopyRow.fields` reads a row of the text format.
    package func copyOut(
        _ sql: String, rows: @Sendable ([[UInt8]]) async throws -> Void
    ) async throws {
        try refuseNUL(sql, "a statement")
        try await exclusively {
            try await beginCopyOut(sql)
            try await readRows(rows)
            try await endCopyOut()
        }
    }

    /// Sends a COPY … TO STDOUT; its rows are to be read then.
    func beginCopyOut(_ sql: String) async throws {
        try handle.send(sql)
        activity = .statement
        guard let first = try await nextResult() else {
            throw PostgresError(.malformedMessage, "the server sent no result")
        }
        switch first.status {
        case PGRES_COPY_OUT:
            activity = .copyOut
        case PGRES_FATAL_ERROR:
            let error = first.error()
            _ = try await collectResults()
            throw error
        default:
            throw PostgresError(.invalidInput, "the statement is no COPY … TO STDOUT")
        }
    }

    /// Reads what follows the rows of a COPY, which may be the error that ended it.
    func endCopyOut() async throws {
        activity = .statement
        _ = try await collectResults()
    }

    private func readRows(_ rows: @Sendable ([[UInt8]]) async throws -> Void) async throws {
        var batch: [[UInt8]] = []
        var size = 0
        while true {
            let step = try handle.nextCopyData()
            if case .data(let row) = step {
                batch.append(row)
                size += row.count
                if size < 1 << 20 { continue }
            }
            if !batch.isEmpty {
                try await rows(batch)
                batch = []
                size = 0
            }
            switch step {
            case .data: continue
            case .end: return
            case .wait:
                guard try await waitReadable(until: end(of: nil)) else { throw Self.tooSlow }
                guard handle.consumeInput() else { throw handle.lost() }
            }
        }
    }

    /// The next piece of a COPY to us; nil at its end.
    func copyStep(until deadline: ContinuousClock.Instant) async throws -> [UInt8]? {
        while true {
            switch try handle.nextCopyData() {
            case .data(let bytes): return bytes
            case .end: return nil
            case .wait:
                guard try await waitReadable(until: deadline) else { throw Self.tooSlow }
                guard handle.consumeInput() else { throw handle.lost() }
            }
        }
    }
}
