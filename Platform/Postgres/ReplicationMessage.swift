import PowerSyncPostgresValues

/// What the server sends on a replication connection (service 7.11).
package enum ReplicationMessage: Sendable, Equatable {
    /// A piece of the stream. For `pgoutput` the payload is one `PgOutputMessage`.
    case xlog(start: LSN, end: LSN, payload: [UInt8])
    /// The server is alive and has read its log up to `end`; it may ask for a status at once.
    case keepalive(end: LSN, replyRequested: Bool)

    /// Reads the content of one CopyData frame; a malformed one throws `malformedMessage`.
    package static func decode(_ frame: [UInt8]) throws(PostgresError) -> ReplicationMessage {
        switch try ReplicationFrame.read(frame, in: 0..<frame.count) {
        case .xlog(let start, let end, let payload):
            return .xlog(start: start, end: end, payload: Array(frame[payload]))
        case .keepalive(let end, let replyRequested):
            return .keepalive(end: end, replyRequested: replyRequested)
        }
    }
}

/// The client's answer: how far the log was written, flushed and applied.
///
/// The server may forget everything before `flushed`, so it moves only when the data is durable (service 7.11).
package struct StandbyStatus: Sendable, Equatable {
    /// How far everything has arrived.
    package let written: LSN
    /// How far everything is durable.
    package let flushed: LSN
    /// How far everything is applied.
    package let applied: LSN

    /// Makes a status of its positions.
    package init(written: LSN, flushed: LSN, applied: LSN) {
        self.written = written
        self.flushed = flushed
        self.applied = applied
    }

    /// The CopyData frame; `time` in microseconds since 2000-01-01 UTC.
    package func encoded(time: Int64, requestsReply: Bool = false) -> [UInt8] {
        var frame = [UInt8(ascii: "r")]
        frame.reserveCapacity(34)
        for number in [written.rawValue, flushed.rawValue, applied.rawValue, UInt64(bitPattern: time)] {
            withUnsafeBytes(of: number.bigEndian) { frame.append(contentsOf: $0) }
        }
        frame.append(requestsReply ? 1 : 0)
        return frame
    }
}
