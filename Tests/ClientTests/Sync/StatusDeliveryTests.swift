import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// A status is delivered after the commit of what it tells: whoever hears of rows finds them.
@Suite(.patient()) struct StatusDeliveryTests {
    private static let rowsPerBucket = 40

    /// The lines of a round: a bucket of priority 1 and one of priority 3, with some operations more than before.
    private static func round(_ number: Int) -> [String] {
        let count = rowsPerBucket
        let last = 2 * count * number
        let buckets = [
            SyncLines.Bucket("early", checksum: Int64(count * number), priority: 1, count: count * number),
            SyncLines.Bucket("late", checksum: Int64(count * number), priority: 3, count: count * number),
        ]
        func data(_ bucket: String, offset: Int) -> [String] {
            (0..<count).map { index in
                let op = last - 2 * count + 2 * index + offset
                return SyncLines.data(bucket, SyncLines.put(op, "\(bucket)-\(op)", checksum: 1))
            }
        }
        let head =
            number == 1
            ? SyncLines.checkpoint(last, buckets, writeCheckpoint: number)
            : SyncLines.diff(last, updated: buckets, writeCheckpoint: number)
        return [head] + data("early", offset: 1) + [SyncLines.partial(1, last)] + data("late", offset: 2)
            + [SyncLines.complete(last)]
    }

    @Test(arguments: 1...6) func everyStatusIsTrueForASecondConnectionWhenItComes(_ seed: Int) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-status-")
        defer { folder.remove() }
        let path = folder.path + "/test.db"
        let witness = Witness(path: path)
        let rig = try await SyncRig(path: path, report: { witness.look(at: $0) })
        var random = SeededRandom(seed: seed)
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            for number in 1...3 {
                let bytes = Array((Self.round(number).joined(separator: "\n") + "\n").utf8)
                var position = 0
                while position < bytes.count {
                    // From single lines, cut anywhere, up to the whole round at once.
                    let next = min(
                        bytes.count,
                        position
                            + Int.random(
                                in: 1...(1 << Int.random(in: 4...14, using: &random)), using: &random))
                    stream.sendRaw(bytes: Array(bytes[position..<next]))
                    position = next
                }
                try await wait(for: "round \(number)") {
                    await rig.status.iteration.appliedCheckpointRequestID == Int64(number)
                }
                rig.clock.advance(by: .seconds(2))
            }
            stream.cut()
            try await wait(for: "the stream to be lost") { await !rig.status.connected }
        }
        let seen = witness.seen
        #expect(seen.progress > 3 && seen.applied >= 6, "statuses that said nothing prove nothing: \(seen)")
        #expect(seen.lies.isEmpty)
    }

    /// Compares each status, while it is delivered, with what another connection reads.
    private final class Witness: Sendable {
        struct Findings: Sendable {
            var progress = 0
            var applied = 0
            /// The last round that was told to be complete.
            var round: Int64 = 0
            var lies: [String] = []
        }

        private let path: String
        private let findings = Lock(Findings())

        init(path: String) { self.path = path }

        var seen: Findings { findings.withLock { $0 } }

        func look(at status: SyncStatusSnapshot) {
            do {
                let connection = try SQLiteConnection(path: path)
                defer { connection.close() }
                try check(status, on: connection)
            } catch {
                findings.withLock { $0.lies.append("cannot look: \(error)") }
            }
        }

        private func check(_ status: SyncStatusSnapshot, on connection: SQLiteConnection) throws {
            func number(_ sql: String, _ parameters: [SQLiteValue] = []) throws -> Int64 {
                try connection.one(sql, parameters) { $0.int64(0) } ?? 0
            }
            let perRound = 2 * Int64(rowsPerBucket)
            if let downloading = status.downloading {
                let told = downloading.reduce(0) { $0 + $1.downloadedOperations }
                // Rows count from the position that the next request will name.
                let stored = try number(
                    """
                    SELECT count(*) FROM ps_oplog AS o JOIN ps_buckets AS b ON b.id = o.bucket
                    WHERE o.op_id <= b.last_op
                    """)
                findings.withLock { findings in
                    if told > 0 { findings.progress += 1 }
                    if stored < told + perRound * findings.round {
                        findings.lies.append("\(told) operations told, \(stored) stored in all")
                    }
                }
            }
            for priority in status.priorities {
                let stored = try number(
                    "SELECT count(*) FROM ps_sync_state WHERE priority >= ?1 AND last_synced_at >= ?2",
                    [.integer(Int64(priority.priority)), .integer(priority.lastSyncedAt)])
                let bucket = priority.priority == 1 ? "early-*" : "*"
                let visible = try number(
                    "SELECT count(*) FROM ps_data__items WHERE id GLOB ?1", [.text(bucket)])
                findings.withLock { findings in
                    findings.applied += 1
                    if stored == 0 || visible < rowsPerBucket {
                        findings.lies.append("priority \(priority.priority) told, \(visible) rows visible")
                    }
                }
            }
            if let id = status.iteration.appliedCheckpointRequestID {
                let visible = try number("SELECT count(*) FROM ps_data__items")
                findings.withLock { findings in
                    findings.round = max(findings.round, id)
                    if visible < perRound * id {
                        findings.lies.append("checkpoint \(id) told, \(visible) rows visible")
                    }
                }
            }
        }
    }
}
