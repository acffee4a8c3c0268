import CPowerSyncPQ
import PowerSyncPostgresValues
import PowerSyncSystem

/// A logical slot that was just made.
package struct ReplicationSlot: Sendable, Equatable {
    /// Its name.
    package let name: String
    /// Changes committed after this position will be streamed.
    package let consistentPoint: LSN
    /// For SET TRANSACTION SNAPSHOT on another connection, until this one runs its next command; nil if not asked for.
    package let snapshotName: String?
}

extension PostgresConnection {
    /// Makes a logical slot for `pgoutput`; waits for every open transaction of the cluster.
    package func createReplicationSlot(
        _ name: String, isTemporary: Bool = false, exportsSnapshot: Bool = false
    ) async throws -> ReplicationSlot {
        let temporary = isTemporary ? " TEMPORARY" : ""
        let snapshot = exportsSnapshot ? "EXPORT_SNAPSHOT" : "NOEXPORT_SNAPSHOT"
        let results = try await script(
            "CREATE_REPLICATION_SLOT \(quoteIdentifier(name))\(temporary) LOGICAL pgoutput \(snapshot)")
        guard let result = results.first, result.rowCount == 1,
            let point = result[0, "consistent_point"].flatMap({ LSN(text: $0) })
        else {
            throw PostgresError(.malformedMessage, "the answer to CREATE_REPLICATION_SLOT has no position")
        }
        return ReplicationSlot(
            name: name, consistentPoint: point, snapshotName: result[0, "snapshot_name"])
    }

    /// Starts to stream the changes that a slot and a publication select (service 7.2).
    ///
    /// From here on the connection only streams, until it is closed. `messages` asks for
    /// `pg_logical_emit_message` too, which servers know from version 14 on.
    package func startReplication(
        slot: String, publication: String, from start: LSN, messages: Bool
    ) async throws {
        let names = quoteLiteral(quoteIdentifier(publication))
        let withMessages = messages ? ", messages 'true'" : ""
        try await copyBoth(
            "START_REPLICATION SLOT \(quoteIdentifier(slot)) LOGICAL \(start.postgresText)"
                + " (proto_version '1', publication_names \(names)\(withMessages))")
    }

    /// Sends a command that answers with COPY in both directions.
    package func copyBoth(_ command: String) async throws {
        try refuseNUL(command, "a replication command")
        try await exclusively {
            try handle.send(command)
            activity = .statement
            guard let first = try await nextResult() else {
                throw PostgresError(.malformedMessage, "the server sent no result")
            }
            switch first.status {
            case PGRES_COPY_BOTH:
                activity = .streaming
            case PGRES_FATAL_ERROR:
                let error = first.error()
                _ = try await collectResults()
                throw error
            default:
                throw PostgresError(.invalidInput, "the command does not start a stream")
            }
        }
    }

    /// The next message of the stream; nil when the deadline passes first.
    ///
    /// Cancelling the task ends the wait and harms nothing. The end of the stream is thrown: by the server's error
    /// (57P01 when it shuts down), else as `connectionLost`. One task may read while another sends.
    package func nextReplicationMessage(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws -> ReplicationMessage? {
        switch try await nextStreamed(until: deadline) {
        case .data(let frame): return try ReplicationMessage.decode(frame)
        case .wait: return nil
        case .end: throw PostgresError(.connectionLost, "the server ended the replication stream")
        }
    }

    /// The next piece of a COPY in both directions; nil when the server has ended it.
    package func nextCopyData() async throws -> [UInt8]? {
        guard case .data(let bytes) = try await nextStreamed(until: nil) else { return nil }
        return bytes
    }

    /// Sends one piece of a COPY in both directions.
    package func putCopyData(_ bytes: [UInt8]) async throws {
        guard activity == .streaming, !isStreamBeingWritten else {
            throw PostgresError(
                .busy, "the connection is not streaming, or another task writes to its stream")
        }
        isStreamBeingWritten = true
        defer { isStreamBeingWritten = false }
        while try !handle.putCopyData(bytes) { try await waitWritable() }
        while try !handle.flush() { try await waitWritable() }
    }

    /// Tells the server how far we are; at least every ten seconds and when it asks (service 7.11).
    ///
    /// - Parameters:
    ///   - written: what has arrived.
    ///   - flushed: what is durable: the server may forget everything before it.
    ///   - applied: what is applied.
    ///   - requestsReply: whether the server shall answer at once, which tells whether it is there.
    /// - Throws: `PostgresError`.
    package func sendStandbyStatus(
        written: LSN, flushed: LSN, applied: LSN, requestsReply: Bool = false
    ) async throws {
        let status = StandbyStatus(written: written, flushed: flushed, applied: applied)
        try await putCopyData(
            status.encoded(time: Self.microsecondsSince2000(), requestsReply: requestsReply))
    }

    /// `wait` stands for a deadline that passed.
    private func nextStreamed(until deadline: ContinuousClock.Instant?) async throws
        -> ConnectionHandle.CopyStep<[UInt8]>
    {
        try beginReadingStream()
        defer { isStreamBeingRead = false }
        var isLost = false
        while true {
            let step = try isStreamAtEnd ? .end : handle.nextCopyData()
            switch step {
            case .data: return step
            case .end:
                isStreamAtEnd = false
                try await endOfStream()
                return .end
            case .wait:
                if isLost { throw handle.lost() }
                guard try await waitReadable(until: deadline) else { return .wait }
                // What had arrived before a loss is still to be read.
                isLost = !handle.consumeInput()
            }
        }
    }

    /// Notes that the caller reads the stream, unless somebody does already; it says itself when it is done.
    func beginReadingStream() throws(PostgresError) {
        guard activity == .streaming, !isStreamBeingRead else {
            throw PostgresError(.busy, "the connection is not streaming, or another task reads its stream")
        }
        isStreamBeingRead = true
    }

    /// Throws the error with which the server ended the stream; the connection is not used again.
    func endOfStream() async throws {
        let result = try await nextResult(until: .now + .seconds(1))
        defer { handle.finish() }
        if let result, result.status == PGRES_FATAL_ERROR { throw result.error() }
    }

    /// The server only shows it in `pg_stat_replication`.
    private static func microsecondsSince2000() -> Int64 {
        WallClock.microseconds() - 946_684_800_000_000
    }
}
