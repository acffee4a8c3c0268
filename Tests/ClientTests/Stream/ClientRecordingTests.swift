import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Plays what a scripted service did to the official Node SDK to this client.
@Suite(.patient()) struct ClientRecordingTests {
    static let files: [String] = {
        let files = try? Repository.fixtureFiles("client")
        return (files ?? []).map(\.lastPathComponent)
    }()

    /// Where this client does better, with the number of connections that it needs.
    static let differing: [String: (connections: Int, reason: String)] = [
        "operations-sent-twice.json": (1, "operations that are sent twice are applied once"),
        "unknown-key-beside-the-line.json": (1, "an unknown key beside a known one is skipped"),
    ]

    /// Situations without end, of which three rounds are enough.
    static let endless: Set = ["checksum-mismatch-always.json", "unauthorized-always.json"]

    @Test func allRecordingsAreHere() { #expect(Self.files.count == 36) }

    @Test(arguments: files) func behavesAsTheOfficialClientDoes(_ file: String) async throws {
        let recording = try JSON.parse(try Repository.fixture("client/\(file)"))
        let recorded = (recording["requests"]?.arrayValue ?? []).filter {
            $0["path"] == .string("/sync/stream")
        }
        let isEndless = Self.endless.contains(file)
        let count = Self.differing[file]?.connections ?? (isEndless ? 3 : recorded.count)
        let isComplete = !isEndless && Self.differing[file] == nil
        let checkpoints = (recording["requests"]?.arrayValue ?? []).count {
            $0["path"]?.stringValue?.hasPrefix("/write-checkpoint2.json") == true
        }

        let player = try await ScriptPlayer(recording["script"] ?? .null)
        try await SyncRig.run(player.rig) { rig in
            for index in 0..<count { try await player.play(connection: index, isLast: index == count - 1) }
            for index in 0..<count {
                #expect(
                    try rig.transport.body(index)["buckets"] == recorded[index]["body"]?["buckets"],
                    "connection \(index) asks for other positions")
            }
            // A token is used again or replaced as in the recording.
            let tokens = rig.transport.requests.filter { $0.method == "POST" }.map { $0.headers[0].value }
            let others = recorded.prefix(count).map { $0["headers"]?["authorization"]?.stringValue ?? "" }
            #expect(changes(tokens) == changes(others))
            guard isComplete else {
                if !isEndless {
                    try await wait(for: "the rows that this client gets") {
                        try await rig.rows("SELECT id FROM notes ORDER BY id") == [["n1"], ["n2"]]
                    }
                }
                return
            }
            let rows = (recording["final"]?["rows"]?.arrayValue ?? []).map { row in
                ["id", "body"].map { SQLiteValue(row[$0]?.stringValue) }
            }
            try await wait(for: "the rows of the recording") {
                try await rig.rows("SELECT id, body FROM notes ORDER BY id") == rows
            }
            let status = recording["final"]?["status"]
            try await wait(for: "the status of the recording") {
                let now = await rig.status
                return now.connected == status?["connected"]?.boolValue && now.downloadError == nil
                    && now.uploadError == nil
                    && now.priorities.isEmpty == (status?["hasSynced"]?.boolValue == false)
            }
            try await wait(for: "an empty queue") {
                try await rig.rows("SELECT count(*) FROM ps_crud")
            } until: {
                $0 == [[0]]
            }
            try await wait(for: "the requests for write checkpoints") {
                writeCheckpointRequests(of: rig)
            } until: {
                $0 >= checkpoints
            }
        }
        // Nothing more can come once it has been stopped.
        if isComplete { #expect(writeCheckpointRequests(of: player.rig) == checkpoints) }
    }

    private func writeCheckpointRequests(of rig: SyncRig) -> Int {
        rig.transport.requests.count { $0.method == "GET" }
    }

    /// For each use of a token whether it is another one than before.
    private func changes(_ tokens: [String]) -> [Bool] { zip(tokens, tokens.dropFirst()).map { $0 != $1 } }
}

/// Plays one script.
private final class ScriptPlayer: Sendable {
    static let schema = """
        {"tables":[{"name":"notes","columns":[{"name":"owner_id","type":"text"},{"name":"body","type":"text"}]}]}
        """

    let rig: SyncRig
    private let script: JSON

    init(_ script: JSON) async throws {
        self.script = script
        func statuses(_ name: String) -> [Int] {
            (script[name]?.arrayValue ?? []).compactMap { $0.int64Value.map { Int($0) } }
        }
        let connections = script["stream"]?.arrayValue ?? []
        var answers = statuses("wc").enumerated().map { index, status in
            status == 200 ? SyncHTTPResponse.writeCheckpoint(7 + index) : .status(status)
        }
        if answers.isEmpty { answers = [.writeCheckpoint(7), .writeCheckpoint(8)] }
        let repeats = Array(repeating: connections.last ?? .null, count: 9)
        let transport = ScriptedTransport(
            statuses: (connections + repeats).map { Int($0["status"]?.int64Value ?? 200) }, answers: answers)
        let tokens = statuses("token")
        let uploads = statuses("upload")
        rig = try await SyncRig(
            schema: Self.schema, transport: transport,
            options: { options in
                options.retryDelay = .seconds(1)
                options.uploadThrottle = .milliseconds(10)
            },
            fetch: { number in
                let status = number <= tokens.count ? tokens[number - 1] : 200
                guard status == 200 else { throw ScriptError("status \(status)") }
                return SyncCredentials(endpoint: "https://service.test", token: "token-\(number)")
            },
            upload: { number, pool in
                let status = number <= uploads.count ? uploads[number - 1] : 200
                guard (200..<300).contains(status) else { throw ScriptError("status \(status)") }
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            })
        if script["offline"]?.boolValue == true { try await write("write") }
    }

    func play(connection index: Int, isLast: Bool) async throws {
        let stream = try await connection(index)
        let connections = script["stream"]?.arrayValue ?? []
        let items = connections[min(index, connections.count - 1)].arrayValue ?? []
        for item in items {
            switch item {
            case .string("hold"): continue
            case .string("end"): stream.end()
            case .string("cut"): stream.cut()
            case .string(let text): stream.sendRaw(String(text.dropFirst("raw:".count)))
            default:
                if item["until"] != nil {
                    try await writes()
                } else if item["wait"] == nil {
                    stream.send(item.text)
                    continue
                }
                try await handled(stream)
            }
        }
        guard isLast, stream.status == 200 else { return }
        try await handled(stream)
        // Writes that no line waits for.
        if script["offline"] == nil, !items.contains(where: { $0["until"] != nil }) { try await writes() }
    }

    /// Waits for a connection; time goes on as long as it does not come.
    private func connection(_ index: Int) async throws -> ScriptedStream {
        try await wait(for: "connection \(index)") {
            if rig.transport.streams.count > index { return true }
            rig.clock.advance(by: rig.clock.waiting.last ?? .zero)
            return false
        }
        return rig.transport.streams[index]
    }

    /// Waits until the client has stored what was sent and asks for more, or has closed the stream.
    private func handled(_ stream: ScriptedStream) async throws {
        try await wait(for: "all lines to be handled") { stream.isIdle || stream.isCancelled }
    }

    private func writes() async throws {
        for (number, name) in ["write", "write2"].enumerated() where script[name] != nil {
            try await write(name)
            let failures = (script["wc"]?.arrayValue ?? []).filter { $0.int64Value != 200 }.count
            try await wait(for: "the write checkpoint") {
                let target = try await rig.database.write { try $0.target() }
                if target == Int64(7 + number + failures) { return true }
                rig.clock.advance(by: rig.clock.waiting.last ?? .zero)
                return false
            }
        }
    }

    private func write(_ name: String) async throws {
        let statements = script[name]?["tx"]?.arrayValue ?? []
        try await rig.pool.write { connection in
            try connection.transaction {
                for statement in statements {
                    try connection.run(statement.arrayValue?.first?.stringValue ?? "")
                }
            }
        }
        rig.coordinator.triggerUpload()
    }
}
