import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// What a driving program gets to its commands about files, while no backend answers.
@Suite(.patient())
struct ClientRunAttachmentTests {
    private static let nowhere = "http://127.0.0.1:1"
    private static let schema = Schema(
        Table(name: "items", columns: [.text("name"), .text("photo_id")]),
        createAttachmentTable(name: defaultAttachmentsTableName))
    /// A comment at its end comments out nothing of the tool's.
    private static let query = "SELECT photo_id AS id FROM items -- pictures;"

    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory(prefix: "files-") }

    private var database: String { folder.path + "/c.db" }
    private var incoming: String { database + "-attachments.incoming" }

    /// Lets `body` drive a client of the one database, and ends it by the end of its input.
    private func with(
        query: String? = "SELECT photo_id AS id FROM items", _ body: (DrivenClient) async throws -> Void
    ) async throws {
        var options = ClientOptions(
            database: database, schema: Self.schema, endpoint: Self.nowhere,
            login: .user("u", backend: Self.nowhere))
        options.attachments = query.map { AttachmentOptions($0) }
        let client = try DrivenClient(options)
        try await body(client)
        #expect(try await client.end() == 0)
    }

    /// Writes a file of the user; returns its path.
    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(folder.path)/\(name)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    /// The names of the files that are kept, but for what is being written.
    private func kept() throws -> [String] {
        let place = database + "-attachments"
        guard FileManager.default.fileExists(atPath: place) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: place).filter { !$0.hasPrefix(".") }
    }

    /// The names of the copies that are not taken over, and of their locks.
    private func waiting() throws -> [String] {
        guard FileManager.default.fileExists(atPath: incoming) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: incoming).sorted()
    }

    private static let insert = #""INSERT INTO items (id, name, photo_id) VALUES (uuid(), 'n', ?)""#
    private static let mark = #"{"$attachment":true}"#

    private static func attach(_ id: Int, _ file: String, _ more: String = "") -> String {
        #"{"id":\#(id),"op":"attach","file":"\#(file)"\#(more),"tx":[[\#(insert),[\#(mark)]]]}"#
    }

    // MARK: Saving and copying out

    @Test func aFileIsCopiedAndItsIdWrittenInOneTransaction() async throws {
        let cat = try file("cat.png", [1, 2, 3])
        try await with(query: Self.query) { client in
            let answer = try await client.ask(Self.attach(1, cat))
            let id = try #require(answer["attachment_id"]?.stringValue)
            #expect(answer.text == #"{"id":1,"ok":true,"attachment_id":"\#(id)"}"#)
            let named = try await client.ask(#"{"id":2,"op":"read","sql":"SELECT photo_id FROM items"}"#)
            #expect(named["rows"]?.text == #"[{"photo_id":"\#(id)"}]"#)
            let listed = try await client.ask(#"{"id":3,"op":"attachments"}"#)
            let expected =
                #"[{"id":"\#(id)","state":"queuedUpload","filename":"\#(id).png","size":3,"error":null}]"#
            #expect(listed["rows"]?.text == expected)
            #expect(try kept() == ["\(id).png"])
            #expect(try waiting() == [])
            #expect(try Array(Data(contentsOf: URL(filePath: cat))) == [1, 2, 3])
            let copy = folder.path + "/copy"
            for bytes in [[], [9, 9, 9, 9]] as [[UInt8]] {
                // What has the name is replaced as a whole.
                if !bytes.isEmpty { _ = try file("copy", bytes) }
                let exported = try await client.ask(
                    #"{"id":\#(10 + bytes.count),"op":"export","attachment_id":"\#(id)","file":"\#(copy)"}"#)
                #expect(exported["ok"] == .bool(true))
                #expect(try Array(Data(contentsOf: URL(filePath: copy))) == [1, 2, 3])
            }
            let beside = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(beside.allSatisfy { !$0.hasPrefix(".") })
        }
    }

    @Test(
        arguments: [
            ("a.png", "", "image/png", "png"), ("a.JPG", "", "image/jpeg", "JPG"),
            ("a.png", #","media_type":"image/x""#, "image/x", "png"),
            ("noname", "", "application/octet-stream", "attachment"),
            ("a.b c", "", "application/octet-stream", "attachment"),
            (".png", "", "application/octet-stream", "attachment"),
        ] as [(String, String, String, String)])
    func theNameTellsTheTypeUnlessTheCommandDoes(
        name: String, more: String, mediaType: String, ending: String
    ) async throws {
        let path = try file(name, [])
        try await with { client in
            let id = try #require(
                try await client.ask(Self.attach(1, path, more))["attachment_id"]?.stringValue)
            let row = try await client.ask(
                #"{"id":2,"op":"read","sql":"SELECT media_type, filename, size FROM attachments"}"#)
            #expect(
                row["rows"]?.text
                    == #"[{"media_type":"\#(mediaType)","filename":"\#(id).\#(ending)","size":0}]"#)
        }
    }

    @Test func ofATransactionThatFailsNothingStays() async throws {
        let cat = try file("cat.png", [1])
        try await with { client in
            let answer = try await client.ask(
                #"""
                {"id":1,"op":"attach","file":"\#(cat)","tx":[[\#(Self.insert),[\#(Self.mark)]],\#
                ["INSERT INTO absent VALUES (1)"]]}
                """#)
            #expect(answer["code"] == .string("invalidStatement"))
            #expect(try await client.ask(#"{"id":2,"op":"crud-count"}"#)["count"] == .number("0"))
            #expect(try await client.ask(#"{"id":3,"op":"attachments"}"#)["rows"]?.text == "[]")
            #expect(try kept() == [] && waiting() == [])
        }
    }

    @Test func aFileIsStillThereInTheNextRun() async throws {
        let cat = try file("cat.png", [4, 5])
        var id = ""
        try await with { client in
            id = try #require(try await client.ask(Self.attach(1, cat))["attachment_id"]?.stringValue)
        }
        try FileManager.default.removeItem(atPath: cat)
        try await with { client in
            _ = try await client.ask(
                #"{"id":1,"op":"export","attachment_id":"\#(id)","file":"\#(folder.path)/copy"}"#)
            #expect(try Array(Data(contentsOf: URL(filePath: folder.path + "/copy"))) == [4, 5])
        }
    }

    // MARK: Deleting

    @Test func deletingTakesTheIdOutInOneTransaction() async throws {
        let cat = try file("cat.png", [1])
        try await with { client in
            let id = try #require(
                try await client.ask(Self.attach(1, cat))["attachment_id"]?.stringValue)
            let answer = try await client.ask(
                #"""
                {"id":2,"op":"delete-attachment","attachment_id":"\#(id)","tx":\#
                [["DELETE FROM items WHERE photo_id = ?",[\#(Self.mark)]]]}
                """#)
            #expect(answer.text == #"{"id":2,"ok":true}"#)
            let left = try await client.ask(#"{"id":3,"op":"read","sql":"SELECT count(*) AS n FROM items"}"#)
            #expect(left["rows"]?.text == #"[{"n":0}]"#)
            let listed = try await client.ask(#"{"id":4,"op":"attachments"}"#)
            #expect(listed["rows"]?.arrayValue?.first?["state"] == .string("queuedDelete"))
        }
    }

    @Test func clearingRemovesTheFilesToo() async throws {
        let cat = try file("cat.png", [1])
        try await with { client in
            _ = try await client.ask(Self.attach(1, cat))
            #expect(try await client.ask(#"{"id":2,"op":"clear"}"#)["ok"] == .bool(true))
            #expect(try await client.ask(#"{"id":3,"op":"attachments"}"#)["rows"]?.text == "[]")
            #expect(try kept() == [])
            // And others can come.
            #expect(try await client.ask(Self.attach(4, cat))["ok"] == .bool(true))
            #expect(try kept().count == 1)
        }
    }

    /// As it does while another process syncs the file, which has the right to.
    @Test func clearingThatFailsLeavesRowsAndFiles() async throws {
        let cat = try file("cat.png", [1])
        let other = FileLock(path: database + "-sync", like: database)
        defer { other.release() }
        try await with { client in
            let id = try #require(
                try await client.ask(Self.attach(1, cat))["attachment_id"]?.stringValue)
            #expect(try other.take())
            let refused = try await client.ask(#"{"id":2,"op":"clear"}"#)
            #expect(refused["ok"] == .bool(false) && refused["code"] == .string("invalidState"))
            #expect(refused["error"] == .string("Cannot clear a database that another process syncs"))
            #expect(try kept() == ["\(id).png"])
            let listed = try await client.ask(#"{"id":3,"op":"attachments"}"#)
            #expect(listed["rows"]?.arrayValue?.first?["id"] == .string(id))
            let named = try await client.ask(#"{"id":4,"op":"read","sql":"SELECT photo_id FROM items"}"#)
            #expect(named["rows"]?.text == #"[{"photo_id":"\#(id)"}]"#)
            other.release()
            #expect(try await client.ask(#"{"id":5,"op":"clear"}"#)["ok"] == .bool(true))
            #expect(try await client.ask(#"{"id":6,"op":"attachments"}"#)["rows"]?.text == "[]")
            #expect(try kept() == [])
        }
    }

    // MARK: Waiting

    @Test func whatIsNotTransferredIsWaitedFor() async throws {
        let cat = try file("cat.png", [1])
        let ask = #""op":"wait","for":"attachments","timeout":0"#
        try await with { client in
            #expect(try await client.ask(#"{"id":1,\#(ask)}"#)["ok"] == .bool(true))
            client.send(#"{"id":2,"op":"wait","for":"attachments"}"#)
            #expect(try await client.answered(2)["ok"] == .bool(true))
            // Named, and nobody knows of it yet.
            _ = try await client.ask(
                #"""
                {"id":3,"op":"write","tx":[["INSERT INTO items (id, photo_id) VALUES ('i', 'p'), \#
                ('j', NULL)"]]}
                """#)
            #expect(try await client.ask(#"{"id":4,\#(ask)}"#)["code"] == .string("timedOut"))
            _ = try await client.ask(#"{"id":5,"op":"write","tx":[["DELETE FROM items WHERE id = 'i'"]]}"#)
            #expect(try await client.ask(#"{"id":6,\#(ask)}"#)["ok"] == .bool(true))
            // Saved, and not uploaded yet.
            _ = try await client.ask(Self.attach(7, cat))
            let late = try await client.ask(#"{"id":8,"op":"wait","for":"attachments","timeout":0.05}"#)
            #expect(late["code"] == .string("timedOut"))
        }
    }

    // MARK: Mistakes

    @Test func aMistakeIsAnAnswer() async throws {
        let absent = folder.path + "/absent"
        let cases = [
            (Self.attach(1, absent), "fileAccess", "cannot read \(absent): No such file or directory"),
            (Self.attach(2, folder.path), "fileAccess", "\(folder.path) is no regular file"),
            (
                #"{"id":3,"op":"attach","file":"\#(absent)"}"#, "invalidArgument", "tx: expected an array"
            ),
            (#"{"id":4,"op":"attach","tx":[]}"#, "invalidArgument", "file: expected a text"),
            (
                #"{"id":5,"op":"delete-attachment","attachment_id":"x","tx":[]}"#, "notFound",
                "Attachment record with id x was not found."
            ),
            (
                #"{"id":6,"op":"export","attachment_id":"x","file":"\#(absent)"}"#, "notFound",
                "Attachment record with id x was not found."
            ),
            (
                #"{"id":7,"op":"write","tx":[["SELECT ?",[\#(Self.mark)]]]}"#, "invalidArgument",
                #"tx[0][1][0]: expected null, a truth value, a number, a text or {"$base64": …}"#
            ),
            (
                #"{"id":8,"op":"attach","file":"f","tx":[["SELECT ?",[{"$attachment":false}]]]}"#,
                "invalidArgument",
                #"tx[0][1][0]: expected null, a truth value, a number, a text or {"$base64": …}"#
            ),
            (#"{"id":9,"op":"attachments","all":true}"#, "invalidArgument", "all: unknown key"),
        ]
        try await with { client in
            for (command, code, error) in cases {
                let answer = try await client.ask(command)
                #expect(answer["ok"] == .bool(false))
                #expect(answer["code"] == .string(code), "\(command)")
                #expect(answer["error"] == .string(error), "\(command)")
            }
            #expect(try waiting() == [])
        }
    }

    @Test func aFileThatIsNotHereCannotBeCopiedOut() async throws {
        let cat = try file("cat.png", [1])
        try await with { client in
            let id = try #require(
                try await client.ask(Self.attach(1, cat))["attachment_id"]?.stringValue)
            let path = "\(database)-attachments/\(id).png"
            try FileManager.default.removeItem(atPath: path)
            let gone = try await client.ask(
                #"{"id":2,"op":"export","attachment_id":"\#(id)","file":"\#(folder.path)/copy"}"#)
            #expect(gone["code"] == .string("fileNotFound"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/copy"))
        }
    }

    /// It would lead to a file that the user has not named.
    @Test func aLinkInPlaceOfAFileIsNotCopiedOut() async throws {
        let (cat, secret) = (try file("cat.png", [1]), try file("secret", [2]))
        try await with { client in
            let id = try #require(
                try await client.ask(Self.attach(1, cat))["attachment_id"]?.stringValue)
            let path = "\(database)-attachments/\(id).png"
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: secret)
            let refused = try await client.ask(
                #"{"id":2,"op":"export","attachment_id":"\#(id)","file":"\#(folder.path)/copy"}"#)
            #expect(refused["code"] == .string("fileAccess"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/copy"))
        }
    }

    @Test(arguments: [
        #""op":"attach","file":"f","tx":[]"#, #""op":"delete-attachment","attachment_id":"x","tx":[]"#,
        #""op":"attachments""#, #""op":"export","attachment_id":"x","file":"f""#,
        #""op":"wait","for":"attachments","timeout":0"#, #""op":"wait","for":"attachments""#,
    ])
    func withoutTheOptionThereAreNone(command: String) async throws {
        try await with(query: nil) { client in
            let answer = try await client.ask(#"{"id":1,\#(command)}"#)
            #expect(answer["code"] == .string("invalidState"))
            #expect(
                answer["error"] == .string("this client has no attachments; it has with --attachments SQL"))
        }
    }

    @Test(arguments: ["SELECT photo_id FROM items", "SELECT id FROM absent", "DELETE FROM items", ""])
    func aQueryWithoutIdsEndsItAtItsBeginning(query: String) async throws {
        var options = ClientOptions(
            database: database, schema: Self.schema, endpoint: Self.nowhere,
            login: .user("u", backend: Self.nowhere))
        options.attachments = AttachmentOptions(query)
        let client = try DrivenClient(options)
        let error = await #expect(throws: ClientError.self) { try await client.endByItself() }
        #expect(error?.message.hasPrefix("--attachments: no query with a column id: ") == true)
        #expect(client.all.isEmpty)
    }

    // MARK: What was killed

    @Test func copiesOfAKilledProgramGoAndThoseOfARunningOneStay() async throws {
        try FileManager.default.createDirectory(atPath: incoming, withIntermediateDirectories: true)
        for name in ["killed", "killed.lock", "moved.lock", "lonely", "running"] {
            #expect(FileManager.default.createFile(atPath: "\(incoming)/\(name)", contents: Data([1])))
        }
        // Nothing of ours, and in nobody's way.
        try FileManager.default.createDirectory(
            atPath: "\(incoming)/folder", withIntermediateDirectories: false)
        let lock = try StagedFile(path: incoming + "/running.lock", resuming: false)
        try await with { _ in }
        #expect(try waiting() == ["folder", "running", "running.lock"])
        lock.discard()
        try await with { _ in }
        #expect(try waiting() == ["folder"])
    }
}
