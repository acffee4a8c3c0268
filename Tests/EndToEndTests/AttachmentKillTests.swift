import Foundation
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// kill -9 in a loop around a client that saves, uploads, downloads and deletes files; `POWERSYNC_ATTACHMENT_KILLS` says how
/// often.
///
/// After each the next client must finish all of it: what rows name is whole, here, at a second client and in the storage;
/// nothing else lies beside the database but what the cache has room for; nothing is in the storage that was deleted. Then the
/// records of the backend and the files of its store are the same, and in the end each file has the bytes that were saved.
@Suite(.enabled(if: TestOptions.hasDatabase), .namesSeed)
struct AttachmentKillTests {
    private static let kills = TestOptions.number("POWERSYNC_ATTACHMENT_KILLS", standard: 10)
    /// How many follow at most.
    ///
    /// Many a one meets a file that is being saved: that none of these does is no chance.
    private static let moreKills = 50

    @Test(.patient(minutes: 60))
    func whateverAClientIsAboutWhenItIsKilledTheNextOneFinishes() async throws {
        try await EndToEnd.withWorld { world in
            try await world.addList()
            let folder = try TemporaryDirectory(prefix: "powersync-kills-")
            defer { folder.remove() }
            var run = try await KillRun(world, in: folder.path)
            // Kills that all meet an idle client prove nothing: more follow, among saves, until one has met a file.
            var kills = 0
            while kills < Self.kills || run.interrupted == 0 && kills < Self.kills + Self.moreKills {
                kills += 1
                let (kill, moments) = (kills, KillRun.Moment.allCases)
                let moment = kill > Self.kills ? .saving : moments[kill % moments.count]
                try await SeedOfIssues.$current.withValue(kill) {
                    try await run.kill(at: moment, seed: kill)
                    try await run.restart()
                    try await run.judge("kill \(kill), \(moment)")
                }
            }
            try await run.end()
            print(run.summary(kills: kills))
            #expect(run.interrupted > 0)
        }
    }
}

/// Two clients of one user: one that is killed and started again, one that sees whether its files arrive.
private struct KillRun {
    /// What the client is about when it is killed.
    enum Moment: CaseIterable, Sendable {
        /// It saves files, the answers have not come.
        case saving
        /// It has saved files, and is not connected.
        case saved
        /// It uploads files.
        case uploading
        /// It downloads files.
        case downloading
        /// It deletes files that are in the storage.
        case deleting
        /// Files that no row names any more leave it.
        case archiving
        /// It learns that files are to be deleted that were never uploaded.
        case deletedBeforeUpload
        /// It removes all data and all files.
        case clearing
    }

    /// How many files that no row names the client may keep.
    private static let cache = 2
    /// How long after the moment that was waited for it is killed at most.
    private static let delay = Duration.milliseconds(60)
    /// How many files each kill is about.
    private static let filesOfKill = 3

    private let world: DemoWorld
    private let folder: String
    private let addresses: (backend: String, service: String)
    private let peer: FileClient
    private var client: FileClient
    /// How many files were made so far.
    private var made = 0
    /// The ids that answers have told, by the number of the file.
    private var told: [Int: String] = [:]
    /// The numbers of all files that rows have named, by the ids.
    private var numbers: [String: Int] = [:]
    /// The files whose rows give them up on purpose.
    private var givenUp: Set<Int> = []
    /// The ids of files that were asked to be deleted, by their numbers.
    private var deleted: [Int: String] = [:]
    /// The ids of files that were deleted before any upload.
    private var neverUploaded: [String] = []
    /// How many kills found a transfer or a save that was not finished.
    private(set) var interrupted = 0

    init(_ world: DemoWorld, in folder: String) async throws {
        self.world = world
        self.folder = folder
        addresses = (try await world.stack.url(.backend), try await world.stack.url(.service))
        peer = try FileClient(
            folder + "/peer.db", backend: addresses.backend, service: addresses.service)
        client = try FileClient(
            folder + "/client.db", backend: addresses.backend, service: addresses.service,
            cache: Self.cache)
        try await peer.settle()
        // Something to begin with, so that every moment has files.
        _ = try await save(on: peer)
        try await peer.waitForAll()
        try await client.settle()
    }

    // MARK: Files

    /// Writes the next file of a user; returns its number.
    ///
    /// A few are empty, a few go in parts.
    private mutating func makeFile() throws -> Int {
        made += 1
        let size = [1, 10_000, 300_000, 0, 9 << 20, 70_000, 33][made % 7]
        var random = SeededRandom(seed: made)
        var words = [UInt64](repeating: 0, count: size / 8 + 1)
        for index in words.indices { words[index] = random.next() }
        let data = words.withUnsafeBytes { Data($0.prefix(size)) }
        try data.write(to: URL(filePath: path(of: made)))
        return made
    }

    private func path(of number: Int) -> String { "\(folder)/\(number).bin" }

    private static func description(_ number: Int) -> String { "picture \(number)" }

    /// Saves files, one after the other; returns their numbers.
    private mutating func save(on client: FileClient) async throws -> [Int] {
        var numbers: [Int] = []
        for _ in 0..<Self.filesOfKill {
            let number = try makeFile()
            told[number] = try await client.attach(
                path(of: number), to: DemoWorld.listOfFiles, Self.description(number))
            numbers.append(number)
        }
        return numbers
    }

    /// The files that rows name, as Postgres has them.
    private func named() async throws -> [Int: String] {
        let result = try await world.query(
            "SELECT description, photo_id FROM todos WHERE photo_id IS NOT NULL ORDER BY description")
        var named: [Int: String] = [:]
        for row in 0..<result.rowCount {
            let words = (result[row, 0] ?? "").split(separator: " ")
            let number = try #require(words.last.flatMap { Int($0) })
            named[number] = result[row, 1]
        }
        return named
    }

    // MARK: Killing

    /// Brings the client to a moment, and kills it there or a little later.
    mutating func kill(at moment: Moment, seed: Int) async throws {
        var random = SeededRandom(seed: seed)
        /// The commands whose answers may still come, by the number of the file.
        var asked: [Int: Int] = [:]
        switch moment {
        case .saving:
            for _ in 0..<Self.filesOfKill {
                let number = try makeFile()
                asked[number] = try client.send(
                    "attach",
                    FileClient.attaching(
                        path(of: number), to: DemoWorld.listOfFiles, Self.description(number)))
            }
        case .saved:
            try await client.ask("disconnect")
            _ = try await save(on: client)
        case .uploading:
            try await client.ask("disconnect")
            let ids = try await save(on: client).compactMap { told[$0] }
            try await client.ask("connect")
            if random.once(in: 2) { try await wait(untilOneOf: ids, isIn: ["synced"]) }
        case .downloading:
            try await client.ask("disconnect")
            let ids = try await save(on: peer).compactMap { told[$0] }
            try await peer.waitForAll()
            try await client.ask("connect")
            try await wait(untilOneOf: ids, isIn: ["queuedDownload", "synced"])
        case .deleting:
            for (number, id) in try await someNamed() {
                givenUp.insert(number)
                deleted[number] = id
                try client.send("delete-attachment", FileClient.deleting(id))
            }
        case .archiving: try await archive()
        case .deletedBeforeUpload:
            try await client.ask("disconnect")
            for number in try await save(on: client) {
                let id = try #require(told[number])
                givenUp.insert(number)
                neverUploaded.append(id)
                try await client.delete(id)
            }
            try await client.ask("connect")
        case .clearing: try client.send("clear")
        }
        try await killSoon(.microseconds(random.below(Int(Self.delay / .microseconds(1)))))
        for (number, command) in asked {
            // What was answered is promised.
            if let id = client.answer(to: command)?["attachment_id"]?.stringValue { told[number] = id }
        }
    }

    /// Waits until the client has one of some files in one of some states.
    private func wait(untilOneOf ids: [String], isIn states: Set<String>) async throws {
        try await PowerSyncTestSupport.wait(
            for: "one of \(ids) to be \(states)", read: { try await client.files() },
            until: { files in files.contains { ids.contains($0.id) && states.contains($0.state) } })
    }

    /// The first files that rows name, by their numbers.
    private func someNamed() async throws -> ArraySlice<(key: Int, value: String)> {
        let some = try await named().sorted { $0.key < $1.key }.prefix(Self.filesOfKill)
        try #require(!some.isEmpty)
        return some
    }

    /// Lets rows give up some files, which nobody deletes, and waits until the client knows of it.
    private mutating func archive() async throws {
        let before = try await rows(of: client).count
        for (number, id) in try await someNamed() {
            givenUp.insert(number)
            // A deletion that the client had not written down is none.
            deleted[number] = nil
            let update = "UPDATE todos SET photo_id = NULL WHERE photo_id = ?"
            let statement = JSON.array([.string(update), .array([.string(id)])])
            try await peer.ask("write", [JSONMember("tx", .array([statement]))])
        }
        try await PowerSyncTestSupport.wait(
            for: "the change on the client", read: { try await rows(of: client).count },
            until: { $0 < before })
    }

    /// Kills the client after a time, on a thread: a transfer is over sooner than a task that sleeps gets its turn again.
    private mutating func killSoon(_ delay: Duration) async throws {
        let process = client.driven.process
        try DetachedThread.start {
            DetachedThread.sleep(for: delay)
            process.signal(SIGKILL)
        }
        // With all that it has said before.
        #expect(try await client.driven.end() == .signalled(SIGKILL))
        if try !client.unfinished().isEmpty { interrupted += 1 }
    }

    /// Starts the client again.
    mutating func restart() async throws {
        client = try FileClient(
            client.database, backend: addresses.backend, service: addresses.service, cache: Self.cache)
        try await client.settle()
        try await peer.waitForAll()
    }

    // MARK: What must be so

    /// Looks at both clients, Postgres and the storage.
    mutating func judge(_ name: String) async throws {
        try await PowerSyncTestSupport.wait(
            for: "both clients to have the rows of Postgres",
            read: {
                (
                    server: try await self.named(), client: try await rows(of: client),
                    peer: try await rows(of: peer)
                )
            }, until: { $0.server == $0.client && $0.server == $0.peer })
        try await client.waitForAll()
        try await peer.waitForAll()
        let named = try await named()
        for (number, id) in named { numbers[id] = number }
        for (number, id) in told where !givenUp.contains(number) {
            #expect(named[number] == id, "\(name): picture \(number) was saved and is lost")
        }
        try await judge(client, keeping: Self.cache, named, name)
        try await judge(peer, keeping: 100, named, name)
        try await judgeStorage(named, name)
    }

    /// The files that rows of a client name.
    private func rows(of client: FileClient) async throws -> [Int: String] {
        let rows = try await client.rows("SELECT description, photo_id FROM todos WHERE photo_id IS NOT NULL")
        var named: [Int: String] = [:]
        for row in rows {
            let number = row["description"]?.stringValue?.split(separator: " ").last.flatMap { Int($0) }
            named[try #require(number)] = row["photo_id"]?.stringValue
        }
        return named
    }

    /// Every file that a row names is whole; of others there are no more than the cache may hold.
    private func judge(
        _ client: FileClient, keeping cache: Int, _ named: [Int: String], _ name: String
    ) async throws {
        let place = "\(name), \(client.database)"
        let known = try await client.rows("SELECT id, state, filename, local_uri FROM attachments")
        for (number, id) in named {
            let row = try #require(known.first { $0["id"] == .string(id) }, "\(place): picture \(number)")
            let path = try #require(row["local_uri"]?.stringValue, "\(place): picture \(number)")
            #expect(row["state"] == .number("3"), "\(place): picture \(number)")
            let isWhole = FileManager.default.contentsEqual(atPath: path, andPath: self.path(of: number))
            #expect(isWhole, "\(place): picture \(number) has other bytes")
        }
        let expected = Set(known.compactMap { $0["filename"]?.stringValue })
        try await PowerSyncTestSupport.wait(
            for: "\(place) to keep no file without a row, and few that nothing names",
            read: {
                let archived = try await client.files().count { $0.state == "archived" }
                return (orphans: Set(try client.kept()).subtracting(expected), archived: archived)
            }, until: { $0.orphans.isEmpty && $0.archived <= cache })
    }

    /// What rows name is whole in the storage; what is deleted is not there, and what was deleted before it was uploaded never
    /// was.
    private func judgeStorage(_ named: [Int: String], _ name: String) async throws {
        let stored = try await stored(name)
        for (number, id) in named {
            let object = try #require(stored[id], "\(name): picture \(number) is not in the storage")
            let isWhole = FileManager.default.contentsEqual(atPath: object, andPath: path(of: number))
            #expect(isWhole, "\(name): picture \(number) has other bytes in the storage")
        }
        // One whose deletion the client had not written down is still named.
        for (number, id) in deleted where named[number] == nil {
            #expect(stored[id] == nil, "\(name): picture \(number) was deleted and is in the storage")
        }
        for id in neverUploaded {
            let known = try await world.query("SELECT count(*) FROM psb.attachments WHERE id = $1", [id])
            #expect(known.scalar == "0", "\(name): \(id) was uploaded, although it was deleted before")
        }
    }

    /// The files of the objects in the storage, by the ids of the attachments, once the backend and the disk agree: there is no
    /// object without a record, and no record without its object.
    private func stored(_ name: String) async throws -> [String: String] {
        let seen = try await PowerSyncTestSupport.wait(
            for: "\(name): records of the backend and objects in the storage to be the same",
            read: { (keys: try await keys(), objects: try objects()) },
            until: { Set($0.keys.values) == Set($0.objects.keys) })
        return seen.keys.compactMapValues { seen.objects[$0] }
    }

    /// The keys of what the backend takes for stored, or on its way there, by the ids of the attachments.
    private func keys() async throws -> [String: String] {
        let records = try await world.query(
            "SELECT id, key FROM psb.attachments WHERE state::text <> 'deleted'")
        var keys: [String: String] = [:]
        for row in 0..<records.rowCount {
            let id = try #require(records[row, 0])
            keys[id] = records[row, 1]
        }
        return keys
    }

    /// The files of the objects in the storage, by their keys.
    private func objects() throws -> [String: String] {
        let folder = world.stack.folder + "/attachments/objects"
        var objects: [String: String] = [:]
        for part in try FileManager.default.contentsOfDirectory(atPath: folder) {
            for name in try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(part)") {
                objects[name.replacing(".", with: "/")] = "\(folder)/\(part)/\(name)"
            }
        }
        return objects
    }

    // MARK: The end

    /// Ends both; one more start must find nothing that is left.
    mutating func end() async throws {
        try await client.close()
        try await restart()
        #expect(try client.unfinished() == [])
        try await client.close()
        try await peer.close()
        try await judgeAllObjects()
    }

    /// Every file in the storage, named by a row or not any more, has the bytes that were saved.
    private func judgeAllObjects() async throws {
        let stored = try await stored("in the end")
        #expect(stored.count >= told.count - givenUp.count)
        for (id, object) in stored {
            let number = try #require(numbers[id], "in the end: nothing has ever named \(id)")
            let isWhole = FileManager.default.contentsEqual(atPath: object, andPath: path(of: number))
            #expect(isWhole, "in the end: picture \(number) has other bytes in the storage")
        }
    }

    /// What it was about, in a line.
    func summary(kills: Int) -> String {
        "files: \(kills) kills, \(interrupted) of them with a file half written; "
            + "\(made) files, \(givenUp.count) given up"
    }
}
