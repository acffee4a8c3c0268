import PowerSyncPostgresValues

/// What a message of a replication stream is, its payload left where it lies (service 7.11).
package enum ReplicationFrame: Sendable, Equatable {
    /// A piece of the stream. For `pgoutput` the payload is one message.
    case xlog(start: LSN, end: LSN, payload: Range<Int>)
    /// The server is alive and has read its log up to `end`; it may ask for a status at once.
    case keepalive(end: LSN, replyRequested: Bool)

    /// Reads the content of one CopyData frame.
    ///
    /// - Parameters:
    ///   - bytes: A buffer, of one frame or many.
    ///   - range: Where the frame lies in it.
    /// - Returns: What it is.
    /// - Throws: `PostgresError`, `malformedMessage`.
    package static func read(
        _ bytes: [UInt8], in range: Range<Int>
    ) throws(PostgresError) -> ReplicationFrame {
        var reader = MessageReader(bytes, in: range)
        switch try reader.byte("frame type") {
        case UInt8(ascii: "w"):
            let start = try reader.lsn("start LSN")
            let end = try reader.lsn("end LSN")
            let _: Int64 = try reader.integer("send time")
            let payload = try reader.bytes("payload", reader.remaining)
            return .xlog(start: start, end: end, payload: payload.indices)
        case UInt8(ascii: "k"):
            let end = try reader.lsn("end LSN")
            let _: Int64 = try reader.integer("send time")
            let reply = try reader.byte("reply requested")
            try reader.finish()
            return .keepalive(end: end, replyRequested: reply != 0)
        default:
            throw reader.malformed("frame type")
        }
    }
}
