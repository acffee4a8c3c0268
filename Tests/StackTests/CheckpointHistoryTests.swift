import Foundation
import PowerSyncStack
import Testing

struct CheckpointHistoryTests {
    private static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    /// A state, whether it tells of an applied checkpoint, and whether nothing is missing then.
    private struct Row {
        var connected = true
        var downloading = false
        var lacksStream = false
        var time: Double?
        var isEvent = false
        var isCurrent = false
    }

    private static func check(_ rows: [Row]) {
        var history = CheckpointHistory()
        #expect(!history.isCurrent)
        for (index, row) in rows.enumerated() {
            let time = row.time.map(date)
            let event = history.take(
                connected: row.connected, downloading: row.downloading, lacksStream: row.lacksStream,
                lastSyncedAt: time)
            #expect(event == (row.isEvent ? time : nil), "row \(index)")
            #expect(history.isCurrent == row.isCurrent, "row \(index)")
        }
    }

    @Test func eachNewTimeIsACheckpointButTheFirst() {
        Self.check([
            Row(connected: false, time: 1),
            Row(connected: false, time: 1),
            Row(time: 1),
            Row(downloading: true, time: 1),
            Row(time: 2, isEvent: true, isCurrent: true),
            Row(time: 2, isCurrent: true),
            Row(downloading: true, time: 2),
            Row(time: 3, isEvent: true, isCurrent: true),
            // A clock that was set back makes none less of a checkpoint.
            Row(time: 2.5, isEvent: true, isCurrent: true),
        ])
    }

    @Test func aStreamIsCurrentAfterItsOwnCheckpoint() {
        Self.check([
            Row(connected: false),
            Row(),
            Row(time: 1, isEvent: true, isCurrent: true),
            Row(connected: false, time: 1),
            Row(time: 1),
            // Of another process, while this one has no stream.
            Row(connected: false, time: 2, isEvent: true),
            Row(time: 2),
            Row(time: 3, isEvent: true, isCurrent: true),
        ])
    }

    /// A stream that is opened for other subscriptions takes the place of the one before without a disconnection.
    @Test func whatIsSubscribedToMustHaveCome() {
        Self.check([
            Row(),
            Row(time: 1, isEvent: true, isCurrent: true),
            Row(lacksStream: true, time: 1),
            Row(downloading: true, lacksStream: true, time: 1),
            Row(time: 2, isEvent: true, isCurrent: true),
        ])
    }

    @Test func clearingIsNoCheckpoint() {
        Self.check([
            Row(time: 1),
            Row(connected: false),
            Row(time: 2, isEvent: true, isCurrent: true),
        ])
    }
}
