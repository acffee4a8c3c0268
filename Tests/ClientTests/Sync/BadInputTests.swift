import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a service that is broken or hostile sends: a typed error, nothing stored, memory bounded.
@Suite(.patient()) struct BadInputTests {
    private static let checkpoint = SyncLines.checkpoint(3, [.init("b", checksum: 18, count: 3)])
    private static let first = SyncLines.data("b", SyncLines.put(1, "r1", checksum: 5))
    private static let rest = SyncLines.data(
        "b", SyncLines.put(2, "r2", checksum: 6), SyncLines.put(3, "r3", checksum: 7))

    private static func rig() async throws -> SyncRig {
        try await SyncRig(options: { $0.lineLimit = BadLine.limit })
    }

    private func dump(_ rig: SyncRig) async throws -> TableDump {
        try await rig.pool.write { try TableDump(of: $0) }
    }

    /// What is stored when the stream breaks behind the first data line.
    private func dumpAfterCut() async throws -> TableDump {
        let rig = try await Self.rig()
        var dump: TableDump?
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            stream.send(Self.checkpoint, Self.first)
            stream.cut()
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            dump = try await self.dump(rig)
        }
        return try #require(dump)
    }

    @Test(arguments: BadLine.all, [true, false])
    func aBadLineEndsTheStreamAndLeavesNothing(_ bad: BadLine, comesAtOnce: Bool) async throws {
        let expected = try await dumpAfterCut()
        try await SyncRig.run(try await Self.rig()) { rig in
            let stream = try await rig.stream(0)
            let text = "\(Self.checkpoint)\n\(Self.first)\n"
            // What comes behind the bad line must not be stored either: its operations were skipped for good then.
            let bytes = Array(text.utf8) + bad.bytes + [0x0A] + Array("\(Self.rest)\n".utf8)
            if comesAtOnce {
                stream.sendRaw(bytes: bytes)
            } else {
                let middle = text.utf8.count + bad.bytes.count / 2
                for piece in [bytes[..<middle], bytes[middle...]] { stream.sendRaw(bytes: Array(piece)) }
            }
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(stream.isCancelled)
            let error = try #require(await rig.status.downloadError as? SyncError)
            #expect(error.code == .protocolViolation)
            #expect(bad.code == nil || (error.cause as? WireError)?.code == bad.code)
            #expect(try await dump(rig) == expected)

            rig.clock.advance(by: .seconds(5))
            let next = try await rig.stream(1)
            #expect(try rig.transport.body(1)["buckets"]?.text == "[{\"name\":\"b\",\"after\":\"1\"}]")
            next.send(Self.checkpoint, Self.rest, SyncLines.complete(3))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(try await rig.items() == ["r1", "r2", "r3"])
            #expect(await rig.status.downloadError == nil)
        }
    }

    @Test(arguments: BadLine.all) func aBadLineLeavesTheStoreAsItWas(_ bad: BadLine) throws {
        let bench = try SyncBench()
        let connection = bench.connection
        func feed(_ bytes: [UInt8]) throws {
            var splitter = LineSplitter(limit: BadLine.limit)
            splitter.append(bytes + [0x0A])
            while let line = try splitter.next() {
                try bench.feed(.line(try SyncLine(parsing: line), size: line.count))
            }
        }
        try bench.start()
        try bench.feed(.connectionEstablished)
        try feed(Array(Self.checkpoint.utf8))
        try feed(Array(Self.first.utf8))
        let before = try TableDump(of: connection)
        let error = #expect(throws: (any Error).self) { try feed(bad.bytes) }
        if let code = bad.code {
            #expect((error as? WireError)?.code == code)
        } else {
            #expect(error is WireError || (error as? SyncError)?.code == .protocolViolation)
        }
        #expect(!connection.isInTransaction)
        #expect(try TableDump(of: connection) == before)
    }

    /// Whoever commits although the function failed must not commit half a line.
    @Test(arguments: BadLine.all.filter(\.reachesSQL))
    func aBadLineLeavesNothingInATransactionThatIsCommittedAllTheSame(_ bad: BadLine) throws {
        let bench = try ControlBench()
        try bench.begin()
        try bench.line(Self.checkpoint, Self.first)
        let before = try TableDump(of: bench.connection)
        try bench.connection.transaction {
            let text = SQLiteValue.text(String(decoding: bad.bytes, as: UTF8.self))
            #expect(throws: SQLiteError.self) {
                try bench.connection.run("SELECT powersync_control('line_text', ?1)", [text])
            }
        }
        #expect(try TableDump(of: bench.connection) == before)
    }

    @Test func aBinaryLineCutAnywhereLeavesTheStoreAsItWas() throws {
        let bench = try SyncBench()
        let connection = bench.connection
        try bench.start()
        for line in [Self.checkpoint, Self.first] {
            let document = try SyncLine(parsing: Array(line.utf8)).encodedBSON()
            try bench.feed(.line(try SyncLine(parsingBSON: document), size: document.count))
        }
        let before = try TableDump(of: connection)
        let whole = try SyncLine(parsing: Array(Self.rest.utf8)).encodedBSON()
        for length in 0..<whole.count {
            let cut = Array(whole[..<length])
            // The length at its beginning may agree with what is left: a text or an end is missing then.
            for bytes in [cut, Self.withItsLength(cut)] {
                #expect(throws: WireError.self, "cut behind \(length) bytes") {
                    try bench.feed(.line(try SyncLine(parsingBSON: bytes), size: bytes.count))
                }
            }
        }
        #expect(try TableDump(of: connection) == before)
        try bench.feed(.line(try SyncLine(parsingBSON: whole), size: whole.count))
        #expect(try TableDump(of: connection) != before)
    }

    private static func withItsLength(_ document: [UInt8]) -> [UInt8] {
        guard document.count >= 4 else { return document }
        return withUnsafeBytes(of: Int32(document.count).littleEndian) { Array($0) } + document.dropFirst(4)
    }

    @Test(arguments: ["x", "{\"data\":{\"bucket\":\"", "{\"checkpoint_complete\":{}}\n{\"data\":\""])
    func aLineWithoutEndIsGivenUpAtTheLimit(beginning: String) async throws {
        let limit = 1 << 20
        let chunk = 1 << 14
        try await SyncRig.run(try await SyncRig(options: { $0.lineLimit = limit })) { rig in
            let stream = try await rig.stream(0)
            stream.send(SyncLines.checkpoint(0, []))
            stream.sendRaw(beginning)
            let count = 4 * limit / chunk
            for _ in 0..<count { stream.sendRaw(String(repeating: "x", count: chunk)) }
            try await wait(for: "the stream to be given up") { await rig.status.downloadError != nil }
            #expect(stream.isCancelled)
            let error = await rig.status.downloadError as? SyncError
            #expect((error?.cause as? WireError)?.code == .tooLarge)
            // One chunk is handed over while the one before it is looked at.
            let taken = (count - stream.left) * chunk
            #expect(taken > limit - chunk && taken <= limit + 2 * chunk, "\(taken) bytes were taken")
        }
    }
}
