import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// `powersync-stack client` with pictures of todos, driven by calls instead of lines.
///
/// The app is that of the demo and of Examples/Todos.
final class FileClient: Sendable {
    /// A file as the client lists it.
    struct Listed: Sendable, Equatable {
        let id: String
        let state: String
        let size: Int64?
        let error: String?
    }

    /// The path of the database.
    let database: String
    let driven: DrivenProcess
    private let lastID = Lock(0)

    /// Starts a client.
    ///
    /// - Parameters:
    ///   - database: the path of its database, beside which the file of the schema is written.
    ///   - backend: the backend's URL.
    ///   - service: the service's URL.
    ///   - user: whose client it is.
    ///   - cache: how many files it keeps that no row names.
    /// - Throws: errors of the file and of starting.
    init(
        _ database: String, backend: String, service: String, user: String = "alice", cache: Int = 100
    ) throws {
        let schema = """
            {"tables":[{"name":"todos","columns":[{"name":"list_id","type":"text"},
            {"name":"owner_id","type":"text"},{"name":"description","type":"text"},
            {"name":"quantity","type":"integer"},{"name":"completed","type":"integer"},
            {"name":"photo_id","type":"text"}]}]}
            """
        try schema.write(toFile: database + ".schema", atomically: true, encoding: .utf8)
        self.database = database
        driven = try DrivenProcess([
            "--db", database, "--schema", database + ".schema", "--endpoint", service, "--backend", backend,
            "--user", user, "--json", "--attachment-cache", "\(cache)", "--attachments",
            "SELECT photo_id AS id, 'bin' AS file_extension FROM todos WHERE photo_id IS NOT NULL",
        ])
    }

    // MARK: Commands

    /// Sends a command without waiting for its answer; returns its id.
    @discardableResult
    func send(_ op: String, _ members: [JSONMember] = []) throws -> Int {
        let id = lastID.withLock { last -> Int in
            last += 1
            return last
        }
        let head = [JSONMember("id", .integer(id)), JSONMember("op", .string(op))]
        try driven.send(JSON.object(head + members).text)
        return id
    }

    /// The answer to a command, if it has come.
    func answer(to id: Int) -> JSON? {
        driven.all.first { $0["id"] == .number("\(id)") && $0["ok"] != nil }
    }

    /// Sends a command and waits for its answer, which must be that it was done.
    @discardableResult
    func ask(
        _ op: String, _ members: [JSONMember] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        let id = try send(op, members)
        let seen = try await wait(
            for: "the answer to \(op)", sourceLocation: sourceLocation, read: { answer(to: id) },
            until: { $0 != nil })
        let given = try #require(seen, sourceLocation: sourceLocation)
        #expect(given["ok"] == .bool(true), "\(op): \(given.text)", sourceLocation: sourceLocation)
        return given
    }

    /// Returns the rows of a query.
    func rows(_ sql: String) async throws -> [JSON] {
        try await ask("read", [JSONMember("sql", .string(sql))])["rows"]?.arrayValue ?? []
    }

    /// Connects, and waits until nothing is missing, files included.
    func settle() async throws {
        try await ask("connect")
        try await waitForAll()
    }

    /// Waits until nothing is missing, files included; for the one that syncs the database, or is about to take over.
    func waitForAll() async throws {
        let limit = Int64(TestOptions.deadline / .seconds(1))
        try await ask(
            "wait", [JSONMember("for", .string("up-to-date")), JSONMember("timeout", .integer(limit))])
        try await waitForFiles()
    }

    /// Waits until no file is missing that the rows name which are here.
    func waitForFiles() async throws {
        try await ask("wait", [JSONMember("for", .string("attachments"))])
    }

    /// What a command says that saves a file as the picture of a new todo.
    static func attaching(_ file: String, to list: String, _ description: String) -> [JSONMember] {
        let insert = """
            INSERT INTO todos (id, list_id, owner_id, description, quantity, completed, photo_id)
            VALUES (uuid(), ?, 'alice', ?, 1, 0, ?)
            """
        let mark = JSON.object([JSONMember("$attachment", .bool(true))])
        return [
            JSONMember("file", .string(file)),
            JSONMember(
                "tx",
                .array([
                    .array([.string(insert), .array([.string(list), .string(description), mark])])
                ])),
        ]
    }

    /// What a command says that deletes a picture, and its id in todos.
    static func deleting(_ id: String) -> [JSONMember] {
        let update = "UPDATE todos SET photo_id = NULL WHERE photo_id = ?"
        let mark = JSON.object([JSONMember("$attachment", .bool(true))])
        return [
            JSONMember("attachment_id", .string(id)),
            JSONMember("tx", .array([.array([.string(update), .array([mark])])])),
        ]
    }

    /// Saves a file as the picture of a new todo; returns its id.
    func attach(_ file: String, to list: String, _ description: String) async throws -> String {
        let answer = try await ask("attach", Self.attaching(file, to: list, description))
        return try #require(answer["attachment_id"]?.stringValue)
    }

    /// Deletes a picture, and its id in todos.
    func delete(_ id: String) async throws { try await ask("delete-attachment", Self.deleting(id)) }

    /// Copies a picture into a file.
    func export(_ id: String, to file: String) async throws {
        try await ask(
            "export", [JSONMember("attachment_id", .string(id)), JSONMember("file", .string(file))])
    }

    /// Lists the files.
    func files() async throws -> [Listed] {
        try (try await ask("attachments")["rows"]?.arrayValue ?? []).map { row in
            Listed(
                id: try #require(row["id"]?.stringValue), state: try #require(row["state"]?.stringValue),
                size: row["size"]?.int64Value, error: row["error"]?.stringValue)
        }
    }

    // MARK: Its end

    /// Ends it in order.
    func close() async throws {
        try driven.send(#"{"op":"close"}"#)
        #expect(try await driven.end() == .exited(0))
    }

    /// Kills it, and waits until it is gone.
    func kill() async throws {
        driven.process.signal(SIGKILL)
        let status = try await wait(forEndOf: driven.process, called: "the client")
        #expect(status == .signalled(SIGKILL))
    }

    // MARK: Its files

    /// The names of its files, but for the folders of those that are being written.
    func kept() throws -> [String] { try names(in: "-attachments").filter { !$0.hasPrefix(".") } }

    /// The files that are being written, by their path behind that of the database.
    func unfinished() throws -> [String] {
        try ["-attachments/.powersync-new", "-attachments/.powersync-part", "-attachments.incoming"]
            .flatMap { place in try names(in: place).map { "\(place)/\($0)" } }
    }

    /// The names in a folder behind the path of the database; none if it is missing.
    private func names(in place: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: database + place) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: database + place)
    }
}
