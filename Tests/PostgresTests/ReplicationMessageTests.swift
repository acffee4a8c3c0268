import PowerSyncPostgres
import PowerSyncPostgresValues
import Testing

struct ReplicationMessageTests {
    @Test func readsAPieceOfTheStream() throws {
        let frame = MessageBytes("w").int64(0x100).int64(0x200).int64(5).raw("payload").bytes
        #expect(
            try ReplicationMessage.decode(frame)
                == .xlog(
                    start: LSN(rawValue: 0x100), end: LSN(rawValue: 0x200), payload: Array("payload".utf8)))
    }

    @Test(arguments: [(UInt8(0), false), (1, true)])
    func readsAKeepalive(byte: UInt8, isRequested: Bool) throws {
        let frame = MessageBytes("k").int64(0x300).int64(5).byte(byte).bytes
        #expect(
            try ReplicationMessage.decode(frame)
                == .keepalive(end: LSN(rawValue: 0x300), replyRequested: isRequested))
    }

    @Test(arguments: [
        [], MessageBytes("w").int64(1).bytes, MessageBytes("k").int64(1).int64(2).bytes, [0x7A],
    ])
    func refusesOtherFrames(frame: [UInt8]) {
        let error = #expect(throws: PostgresError.self) { try ReplicationMessage.decode(frame) }
        #expect(error?.code == .malformedMessage)
    }

    @Test func writesTheStandbyStatus() {
        let status = StandbyStatus(
            written: LSN(rawValue: 0x0102_0304_0506_0708), flushed: LSN(rawValue: 2),
            applied: LSN(rawValue: 3))
        let frame = status.encoded(time: 4, requestsReply: true)
        #expect(
            frame
                == MessageBytes("r").int64(0x0102_0304_0506_0708).int64(2).int64(3).int64(4).byte(1).bytes)
        #expect(status.encoded(time: 4).last == 0)
    }
}
