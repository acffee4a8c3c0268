import PowerSync
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Seeded sessions with chunks and cuts anywhere: the client must end with the service's rows, whatever happens.
@Suite(.patient(), .namesSeed) struct SyncFaultTests {
    @Test func endsWithTheRowsOfTheServiceWhereverTheStreamIsCut() async throws {
        try await forEachSeed(20) { try await session(&$0) }
    }

    private func session(_ random: inout SeededRandom) async throws {
        let service = ModelService(operations: 60, random: &random)
        var generator = random
        try await SyncRig.run(try await SyncRig()) { rig in
            for attempt in 0... {
                let stream = try await rig.stream(attempt)
                let text = Array(try service.lines(for: try rig.transport.body(attempt)).utf8)
                let isCut = attempt < 6
                let end = isCut ? Int.random(in: 0..<text.count, using: &generator) : text.count
                var position = 0
                while position < end {
                    let next = min(end, position + Int.random(in: 1...700, using: &generator))
                    stream.sendRaw(bytes: Array(text[position..<next]))
                    position = next
                }
                guard isCut else { break }
                if Bool.random(using: &generator) { stream.cut() } else { stream.end() }
                try await wait(for: "the stream to be given up") { stream.isCancelled }
                try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
                let broken = try await rig.rows(SyncBench.brokenInvariantsQuery)
                #expect(broken.isEmpty)
                rig.clock.advance(by: .seconds(5))
            }
            func isRefused() -> Bool { rig.log.contains { $0.contains("Checksums didn't match") } }
            try await wait(for: "the complete checkpoint") {
                let isComplete = await !rig.status.priorities.isEmpty
                return isComplete || isRefused()
            }
            #expect(!isRefused())
            #expect(try await rig.rows("SELECT id, col FROM items ORDER BY id") == service.rows)
            #expect(await rig.status.downloadError == nil)
            // Not one operation was counted twice.
            #expect(
                try await rig.rows("SELECT sum(count_at_last), sum(count_since_last) FROM ps_buckets")
                    == [[.integer(Int64(service.count)), 0]])
        }
    }
}

/// A service with two buckets and a fixed history.
private struct ModelService {
    private struct Entry {
        let id: Int
        let bucket: String
        let text: String
        let checksum: UInt32
    }

    private var entries: [Entry] = []
    private var visible: [String: String] = [:]

    init(operations: Int, random: inout SeededRandom) {
        for id in 1...operations {
            let bucket = Bool.random(using: &random) ? "a" : "b"
            // A row belongs to one bucket, so that its last operation decides.
            let row = "\(bucket)-\(Int.random(in: 0..<8, using: &random))é"
            let checksum = UInt32.random(in: 0...UInt32.max, using: &random)
            let text: String
            switch Int.random(in: 0..<10, using: &random) {
            case 0...6:
                text = SyncLines.put(id, row, checksum: Int64(checksum))
                visible[row] = "\(row)-\(id)"
            case 7...8:
                text = SyncLines.remove(id, row, checksum: Int64(checksum))
                visible[row] = nil
            default: text = SyncLines.bare(id, "MOVE", checksum: Int64(checksum))
            }
            entries.append(Entry(id: id, bucket: bucket, text: text, checksum: checksum))
        }
    }

    var count: Int { entries.count }
    var rows: [[SQLiteValue]] { visible.sorted { $0.key < $1.key }.map { [.text($0.key), .text($0.value)] } }

    /// The lines for a request, from the positions that it names.
    func lines(for request: JSON) throws -> String {
        let buckets = ["a", "b"].map { name in
            let own = entries.filter { $0.bucket == name }
            return SyncLines.Bucket(
                name, checksum: Int64(own.reduce(0) { $0 &+ $1.checksum }), count: own.count)
        }
        var lines = [SyncLines.checkpoint(entries.count, buckets)]
        for bucket in buckets {
            let position = (request["buckets"]?.arrayValue ?? []).first { $0["name"] == .string(bucket.name) }
            let after = position?["after"]?.stringValue.flatMap { Int($0) } ?? 0
            for entry in entries where entry.bucket == bucket.name && entry.id > after {
                lines.append(SyncLines.data(bucket.name, entry.text))
            }
        }
        lines.append(SyncLines.complete(entries.count))
        return lines.joined(separator: "\n") + "\n"
    }
}
