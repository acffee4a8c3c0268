import Foundation
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Two clients on one database, each a process: one at a time transfers its files.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentProcessTests {
    /// How often the backend has signed something for each file.
    private struct Signed {
        var uploads: [String: Int] = [:]
        var downloads: [String: Int] = [:]
    }

    /// A network to a backend that counts what the backend signs: each signature is a transfer.
    ///
    /// The bytes do not pass through it. Answers that tell that a file is not there, or is stored already, count for nothing.
    private static func wire(to backend: String, counting signed: Lock<Signed>) throws -> RawServer {
        let port = try #require(URL(string: backend)?.port)
        return try RawServer { connection in
            while let request = connection.request() {
                guard let answer = RawConnection.answer(to: request, from: port) else { return }
                let path = request.split(separator: " ").dropFirst().first?.split(separator: "?").first ?? ""
                let body = answer.components(separatedBy: "\r\n\r\n").last ?? ""
                // What is no JSON is no signature.
                let json = try? JSON.parse(body)
                signed.withLock { signed in
                    if path.hasSuffix("/upload-url"), json?["alreadyUploaded"] == .bool(false),
                        let id = json?["id"]?.stringValue
                    {
                        signed.uploads[id, default: 0] += 1
                    }
                    if path.hasSuffix("/download-url"), json?["downloadUrl"] != nil,
                        let id = path.split(separator: "/").dropLast().last
                    {
                        signed.downloads[String(id), default: 0] += 1
                    }
                }
                connection.send(answer)
            }
        }
    }

    /// What the two clients need, and a third one of the same user on a database of its own.
    private struct Place {
        let folder: String
        let wire: RawServer
        let signed: Lock<Signed>
        let service: String
        let other: FileClient

        /// Starts one of the clients that share a database.
        func client() throws -> FileClient {
            try FileClient(folder + "/shared.db", backend: "http://127.0.0.1:\(wire.port)", service: service)
        }

        /// Writes a file of so many bytes; returns its path.
        func file(_ number: Int, size: Int) throws -> String {
            let path = "\(folder)/\(number).bin"
            try Data(repeating: UInt8(number), count: size).write(to: URL(filePath: path))
            return path
        }

        /// Saves files on a client; returns their ids by number.
        func save(_ numbers: Range<Int>, size: Int, on client: FileClient) async throws -> [Int: String] {
            var ids: [Int: String] = [:]
            for number in numbers {
                ids[number] = try await client.attach(
                    try file(number, size: size), to: DemoWorld.listOfFiles, "picture \(number)")
            }
            return ids
        }

        /// Checks that a client has files, as they were saved.
        func expect(_ ids: [Int: String], on client: FileClient) async throws {
            let rows = try await client.rows("SELECT id, state, local_uri FROM attachments")
            for (number, id) in ids {
                let row = try #require(rows.first { $0["id"] == .string(id) })
                let path = try #require(row["local_uri"]?.stringValue)
                #expect(row["state"] == .number("3"))
                #expect(FileManager.default.contentsEqual(atPath: path, andPath: "\(folder)/\(number).bin"))
            }
        }
    }

    private func with(_ body: @escaping @Sendable (Place, DemoWorld) async throws -> Void) async throws {
        try await EndToEnd.withWorld { world in
            try await world.addList()
            let backend = try await world.stack.url(.backend)
            let service = try await world.stack.url(.service)
            let folder = try TemporaryDirectory(prefix: "powersync-pair-")
            defer { folder.remove() }
            let signed = Lock(Signed())
            let place = Place(
                folder: folder.path, wire: try Self.wire(to: backend, counting: signed), signed: signed,
                service: service,
                other: try FileClient(folder.path + "/other.db", backend: backend, service: service))
            try await place.other.settle()
            try await body(place, world)
            try await place.other.close()
        }
    }

    @Test func eachFileIsTransferredOnce() async throws {
        try await with { place, _ in
            let first = try place.client()
            try await first.settle()
            // It syncs the database, so the other one sees what it brings.
            let second = try place.client()
            try await second.ask("connect")
            async let ofFirst = place.save(0..<10, size: 20_000, on: first)
            async let ofSecond = place.save(10..<20, size: 20_000, on: second)
            let saved = try await ofFirst.merging(ofSecond) { $1 }
            #expect(saved.count == 20)
            try await first.waitForAll()
            try await second.waitForFiles()
            let once = Dictionary(uniqueKeysWithValues: saved.values.map { ($0, 1) })
            #expect(place.signed.withLock { $0.uploads } == once)
            #expect(place.signed.withLock { $0.downloads }.isEmpty)

            try await place.other.waitForAll()
            let foreign = try await place.save(100..<110, size: 20_000, on: place.other)
            try await place.other.waitForAll()
            for client in [first, second] {
                try await wait(for: "the todos of the other client") {
                    try await client.rows("SELECT 1 FROM todos WHERE photo_id IS NOT NULL").count == 30
                }
                try await client.waitForFiles()
                try await place.expect(saved.merging(foreign) { $1 }, on: client)
            }
            let foreignOnce = Dictionary(uniqueKeysWithValues: foreign.values.map { ($0, 1) })
            #expect(place.signed.withLock { $0.downloads } == foreignOnce)
            #expect(place.signed.withLock { $0.uploads } == once)
            for client in [first, second] { try await client.close() }
        }
    }

    @Test func whenTheOneThatTransfersIsKilledTheOtherFinishes() async throws {
        try await with { place, world in
            let first = try place.client()
            try await first.settle()
            _ = try await place.save(0..<1, size: 10, on: first)
            try await first.waitForAll()
            // It has begun, so it is the one; whoever comes later waits.
            let second = try place.client()
            try await second.ask("connect")
            let before = place.signed.withLock { $0.uploads.count }
            let ids = try await place.save(1..<13, size: 3 << 20, on: second)
            try await wait(
                for: "the first to be in the midst of it",
                read: { place.signed.withLock { $0.uploads.count } },
                until: { $0 > before })
            try await first.kill()
            try await second.waitForAll()
            try await place.expect(ids, on: second)
            #expect(try second.unfinished() == [])
            // The one that was under way, and no other one, may have been signed for twice.
            let counts = place.signed.withLock { signed in ids.values.map { signed.uploads[$0] ?? 0 } }
            #expect(counts.allSatisfy { $0 == 1 || $0 == 2 } && counts.count { $0 == 2 } <= 1, "\(counts)")
            let ready = try await world.query(
                "SELECT count(*) FROM psb.attachments WHERE state::text = 'ready'")
            #expect(ready.scalar == "13")
            try await wait(for: "the todos on the other database") {
                try await place.other.rows("SELECT 1 FROM todos WHERE photo_id IS NOT NULL").count == 13
            }
            try await place.other.waitForAll()
            try await place.expect(ids, on: place.other)
            try await second.close()
        }
    }
}
