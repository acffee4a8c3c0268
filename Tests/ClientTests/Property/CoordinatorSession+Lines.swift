import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSync

/// Bytes on their way to the client, and where each line among them ends.
struct LinePipe {
    private var bytes: [UInt8] = []
    private var lines: [(line: ServiceLine, size: Int, end: Int)] = []
    private var taken = 0

    var count: Int { bytes.count }

    /// Adds a line; it is whole with the first byte of what ends it, or with its own last one.
    mutating func append(_ line: ServiceLine, _ content: [UInt8], end: [UInt8]) {
        lines.append((line, content.count, taken + bytes.count + content.count + min(1, end.count)))
        bytes += content + end
    }

    /// Takes bytes out; returns the lines, with their sizes, that are whole with them.
    mutating func take(_ count: Int) -> (bytes: [UInt8], lines: [(line: ServiceLine, size: Int)]) {
        let part = Array(bytes.prefix(count))
        bytes.removeFirst(part.count)
        taken += part.count
        let whole = lines.prefix { $0.end <= taken }
        lines.removeFirst(whole.count)
        return (part, whole.map { ($0.line, $0.size) })
    }
}

/// What the service sends.
extension CoordinatorSession {
    /// Puts lines on the wire: the rest of a checkpoint, a new one, or something in between.
    func serve() throws {
        guard var stream else { return }
        defer { self.stream = stream }
        let isBehind = stream.isBehind(service, lastSentWriteCheckpoint)
        let supersedes = !isCalm && !stream.isIdle && random.once(in: 40)
        if isBehind && stream.isIdle || supersedes || !isCalm && random.once(in: 30) {
            let line = stream.checkpoint(service, &random, isCalm: isCalm)
            switch line {
            case .checkpoint(_, let id, _, _, _), .diff(_, let id, _, _, _): lastSentWriteCheckpoint = id
            default: break
            }
            try send(line)
        } else if let line = stream.next(&random, isCalm: isCalm) {
            try send(line)
        }
        guard !isCalm else { return }
        if random.once(in: 15), let line = stream.repeated(&random) { try send(line) }
        if random.once(in: 20) { try send(.keepalive(random.pick([60, 20, 45]))) }
        if random.once(in: 150) { try send(.keepalive(0)) }
        if random.once(in: 30) { try send(.unknown) }
    }

    private func send(_ line: ServiceLine) throws {
        note("service: \(line.summary)")
        let text = Array(line.text.utf8)
        if sendsBinary {
            pipe.append(line, try SyncLine(parsing: text).encodedBSON(), end: [])
        } else {
            // Blank lines mean nothing.
            pipe.append(line, text, end: random.once(in: 10) ? [0x0A, 0x0A] : [0x0A])
        }
    }

    /// Hands over bytes, cut anywhere.
    func receive(_ count: Int) throws {
        guard let wire, pipe.count > 0 else { return }
        let (bytes, lines) = pipe.take(count)
        var course = Course.same
        for (line, size) in lines where course == .same {
            note("client: \(line.summary)")
            if sendsBinary { meet(.binaryLine) }
            course = try take(line, size)
        }
        try act("\(bytes.count) bytes", course) { wire.sendRaw(bytes: bytes) }
    }

    /// Says what a line must come to.
    private func take(_ line: ServiceLine, _ size: Int) throws -> Course {
        let keys = active.withLock { $0 }
        var outcomes: [ClientModel.Outcome] = []
        let wasPending = model.pending != nil
        possible = possible.map { states in
            var next = states[states.count - 1].model
            outcomes.append(next.receive(line, size: size, active: keys, now: now))
            // Data may wait for more; everything else is stored at once, with what waits before it.
            if case .data = line { return states + [PossibleState(next)] }
            return [PossibleState(next)]
        }
        let outcome = outcomes[0]
        try require(outcomes.allSatisfy { $0 == outcome }, "the model does not know what comes of a line")
        if !wasPending, model.pending != nil { meet(.blocked) }
        switch outcome {
        case .nothing: return .same
        case .completed(_, let truth):
            meet(.completed)
            mismatches = 0
            try require(model.queue.isEmpty, "the model applies while local writes wait")
            let (rows, truth) = (model.comparable(model.visible), model.comparable(truth))
            try require(
                rows == truth,
                """
                a complete checkpoint shows something else than the service:
                \(rows.filter { truth[$0.key] != $0.value }) instead of
                \(truth.filter { rows[$0.key] != $0.value })
                """)
            return .same
        case .mismatch:
            meet(.mismatch)
            mismatches += 1
            return .ends
        case .closed:
            if case .keepalive(let seconds) = line, seconds <= 0 { return .ends }
            return .restarts
        }
    }

    /// The network ends the stream, perhaps in the middle of a line, or the service ends it in order.
    func cut() throws {
        guard let wire else { return }
        if random.once(in: 2) {
            try act("cut with \(pipe.count) bytes on their way", .ends) { wire.cut() }
        } else {
            try act("end", .ends) { wire.end() }
        }
    }
}

// MARK: The raw table

extension ClientModel {
    /// The rows that go into a table of the app.
    static let rawType = "labels"

    /// The tables as text, that of the app, too.
    var textWithRaw: DatabaseText {
        var synced = self
        synced.visible = visible.filter { $0.key.type != Self.rawType }
        var text = synced.text
        text.parts["raw"] =
            visible.filter { $0.key.type == Self.rawType }.sorted { $0.key < $1.key }
            .map { "\($0.key.id) \($0.value.title ?? "-") \($0.value.n.map(String.init) ?? "-")" }
            .joined(separator: "\n")
        return text
    }
}

extension DatabaseText {
    /// Reads all tables, that of the app, too.
    static func readWithRaw(_ connection: SQLiteConnection) throws -> DatabaseText {
        var text = try read(connection)
        text.parts["raw"] = try connection.query(
            "SELECT id || ' ' || ifnull(title, '-') || ' ' || ifnull(n, '-') FROM labels ORDER BY id"
        ) { $0.string(0) }.joined(separator: "\n")
        return text
    }
}
