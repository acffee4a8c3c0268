import Foundation
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Files of `powersync-stack client`, from one program to another.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentCommandTests {
    /// Three clients of the demo's app: two of Alice, one of Carol.
    private struct Clients {
        let a: FileClient
        let b: FileClient
        let carol: FileClient
        let folder: String

        /// Writes a file of the user; returns its path.
        func file(_ name: String, _ bytes: [UInt8]) throws -> String {
            let path = "\(folder)/\(name)"
            try Data(bytes).write(to: URL(filePath: path))
            return path
        }

        /// Copies a picture out of a client, and returns its bytes.
        func bytes(of id: String, on client: FileClient) async throws -> [UInt8] {
            let path = "\(folder)/copy-\(UUID().uuidString)"
            try await client.export(id, to: path)
            return try Array(Data(contentsOf: URL(filePath: path)))
        }
    }

    private func with(
        _ body: @escaping @Sendable (Clients, DemoWorld) async throws -> Void
    ) async throws {
        try await EndToEnd.withWorld { world in
            try await world.addList()
            let backend = try await world.stack.url(.backend)
            let service = try await world.stack.url(.service)
            let folder = try TemporaryDirectory(prefix: "powersync-files-")
            defer { folder.remove() }
            func client(_ name: String, _ user: String) throws -> FileClient {
                try FileClient("\(folder.path)/\(name).db", backend: backend, service: service, user: user)
            }
            let clients = Clients(
                a: try client("a", "alice"), b: try client("b", "alice"), carol: try client("c", "carol"),
                folder: folder.path)
            let all = [clients.a, clients.b, clients.carol]
            for client in all { try await client.settle() }
            try await body(clients, world)
            for client in all { try await client.close() }
        }
    }

    @Test func aFileIsSavedOnOneClientAndCopiedOutOfAnother() async throws {
        try await with { clients, world in
            let (a, b) = (clients.a, clients.b)
            // From none to one that goes in parts.
            let contents: [[UInt8]] = [
                [], [7], (0..<100_000).map { UInt8(truncatingIfNeeded: $0) },
                [UInt8](repeating: 5, count: 9 << 20),
            ]
            var ids: [String] = []
            for (number, content) in contents.enumerated() {
                let file = try clients.file("\(number).bin", content)
                ids.append(try await a.attach(file, to: DemoWorld.listOfFiles, "picture \(number)"))
            }
            try await a.waitForAll()
            try await wait(for: "the todos on B") {
                try await b.rows("SELECT id FROM todos WHERE photo_id IS NOT NULL").count == contents.count
            }
            try await b.waitForAll()
            for (id, content) in zip(ids, contents) {
                #expect(try await clients.bytes(of: id, on: b) == content)
            }
            for client in [a, b] {
                let files = try await client.files()
                #expect(Set(files.map(\.id)) == Set(ids))
                #expect(files.allSatisfy { $0.state == "synced" && $0.error == nil })
                #expect(files.compactMap(\.size).sorted() == contents.map { Int64($0.count) })
                #expect(try client.unfinished() == [])
            }
            #expect(try await clients.carol.files() == [])

            try await a.delete(ids[1])
            try await a.waitForAll()
            let left = try await a.files()
            #expect(Set(left.map(\.id)) == Set(ids).subtracting([ids[1]]))
            try await wait(
                for: "B's copy to be archived",
                read: { try await b.files().first { $0.id == ids[1] }?.state },
                until: { $0 == "archived" })
            // It is kept as long as the cache has room.
            #expect(try await clients.bytes(of: ids[1], on: b) == [7])
            let records = try await world.query(
                "SELECT count(*) FROM psb.attachments WHERE state::text = 'ready'")
            #expect(records.scalar == "3")
        }
    }

    /// Whoever names the picture of somebody else in a row of their own gets nothing by that.
    @Test func whatAUserMayNotHaveIsRefusedAndToldInTheList() async throws {
        try await with { clients, world in
            let file = try clients.file("cat.bin", [1, 2, 3])
            let id = try await clients.a.attach(file, to: DemoWorld.listOfFiles, "picture")
            try await clients.a.waitForAll()
            _ = try await world.query(
                """
                INSERT INTO todos (id, list_id, owner_id, description, photo_id)
                VALUES (gen_random_uuid(), $1, 'carol', 'stolen', $2)
                """, [DemoWorld.listOfFiles, id])
            let listed = try await wait(
                for: "the refusal", read: { try await clients.carol.files().first },
                until: { $0?.error != nil })
            #expect(listed?.id == id && listed?.state == "queuedDownload")
            #expect(try clients.carol.kept() == [])
            #expect(try clients.carol.unfinished() == [])
        }
    }

    @Test func filesWaitForTheirBackend() async throws {
        try await with { clients, world in
            await world.stack.stop(.backend)
            let file = try clients.file("cat.bin", [1, 2, 3])
            let id = try await clients.a.attach(file, to: DemoWorld.listOfFiles, "picture")
            let failed = try await wait(
                for: "an attempt that fails", read: { try await clients.a.files().first },
                until: { $0?.error != nil })
            #expect(failed?.id == id && failed?.state == "queuedUpload" && failed?.size == 3)
            try await world.stack.start(.backend)
            try await clients.a.waitForAll()
            #expect(try await clients.a.files().map(\.state) == ["synced"])
        }
    }
}

extension DemoWorld {
    /// The list of the todos that have files.
    static let listOfFiles = "ffffffff-0000-4000-8000-000000000001"

    /// Makes the list of the todos that have files, which is Alice's.
    func addList() async throws {
        _ = try await query(
            "INSERT INTO lists (id, owner_id, name) VALUES ($1, 'alice', 'With files')", [Self.listOfFiles])
    }
}
