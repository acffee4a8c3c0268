import Foundation
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Storages that take files and bring them (client-api 4.11).
@Suite(.patient()) struct AttachmentTransportTests {
    /// A database with a user's photo, and its attachments.
    private static let schema = Schema(
        Table(name: "users", columns: [.text("name"), .text("photo_id")]),
        createAttachmentTable(name: defaultAttachmentsTableName))

    private static func state(of id: String, in test: TestDatabase) async throws -> Int? {
        try await test.database.getOptional(
            sql: "SELECT state FROM attachments WHERE id = ?", parameters: [id]
        ) { try $0.getInt(index: 0) }
    }

    @Test(.behaviour(197)) func aTransportOfTheAppsOwnGetsFilesAndNoData() async throws {
        let test = try TestDatabase(schema: Self.schema)
        let transport = RecordingTransport(bytes: [1, 2, 3])
        let (items, watched) = AsyncThrowingStream<[WatchedAttachmentItem], any Error>.makeStream()
        let queue = AttachmentQueue(
            db: test.database, remoteStorage: transport, attachmentsDirectory: test.folder.file("photos"),
            watchAttachments: { items }, syncThrottleDuration: 0.01)
        try await queue.startSync()
        watched.yield([WatchedAttachmentItem(id: "down", fileExtension: "bin")])
        try await wait(
            for: "the download", read: { try await Self.state(of: "down", in: test) },
            until: { $0 == AttachmentState.synced.rawValue })
        let final = await queue.getLocalUri("down.bin")
        #expect(transport.downloads.map(\.attachment.id) == ["down"])
        #expect(transport.downloads.map(\.attachment.localUri) == [final], "it is known before")
        #expect(transport.downloads[0].path != final, "nobody sees half of it")
        #expect(FileManager.default.contents(atPath: final) == Data([1, 2, 3]))

        let saved = try await queue.saveFile(
            data: Data([4, 5]), mediaType: "image/jpeg", fileExtension: "jpg", updateHook: { _, _ in })
        try await wait(
            for: "the upload", read: { try await Self.state(of: saved.id, in: test) },
            until: { $0 == AttachmentState.synced.rawValue })
        #expect(transport.uploads.map(\.attachment.id) == [saved.id])
        #expect(transport.uploads.map(\.bytes) == [[4, 5]])

        try await queue.deleteFile(attachmentId: saved.id, updateHook: { _, _ in })
        try await wait(
            for: "the delete", read: { try await Self.state(of: saved.id, in: test) }, until: { $0 == nil })
        #expect(transport.deletes == [saved.id])
        #expect(transport.buffers == 0, "no file goes through memory")
        try await queue.close()
    }

    @Test(.behaviour(198)) func aFileIsTakenInByItsPath() async throws {
        let bytes = [UInt8](repeating: 9, count: 256)
        let test = try TestDatabase(schema: Self.schema)
        let local = MovingStorage()
        let queue = AttachmentQueue(
            db: test.database, remoteStorage: RecordingTransport(),
            attachmentsDirectory: test.folder.file("photos"),
            watchAttachments: { AsyncThrowingStream { _ in } }, localStorage: local)
        let source = test.folder.file("picked.jpg")
        try Data(bytes).write(to: URL(filePath: source))
        let saved = try await queue.saveFileFromUri(
            localUri: source, mediaType: "image/jpeg", fileExtension: "jpg", metaData: nil, id: nil,
            updateHook: { _, _ in })
        #expect(try await Self.state(of: saved.id, in: test) == AttachmentState.queuedUpload.rawValue)
        #expect(!FileManager.default.fileExists(atPath: source))
        let path = try #require(saved.localUri)
        #expect(FileManager.default.contents(atPath: path) == Data(bytes))
        #expect(local.calls.filter { $0 == "save" || $0 == "read" || $0 == "copy" } == [])
        #expect(local.calls.contains("move"))
        try await queue.close()

        // The storage on disk moves by itself.
        let onDisk = AttachmentQueue(
            db: test.database, remoteStorage: RecordingTransport(),
            attachmentsDirectory: test.folder.file("photos"),
            watchAttachments: { AsyncThrowingStream { _ in } })
        try Data(bytes).write(to: URL(filePath: source))
        let other = try await onDisk.saveFileFromUri(
            localUri: source, mediaType: "image/jpeg", fileExtension: "jpg", metaData: nil, id: nil,
            updateHook: { _, _ in })
        #expect(other.size == 256 && !FileManager.default.fileExists(atPath: source))
        let otherPath = try #require(other.localUri)
        #expect(FileManager.default.contents(atPath: otherPath) == Data(bytes))
        try await onDisk.close()

        let unmovable = AttachmentQueue(
            db: test.database, remoteStorage: RecordingTransport(),
            attachmentsDirectory: test.folder.file("photos"),
            watchAttachments: { AsyncThrowingStream { _ in } }, localStorage: PlainStorage())
        try Data(bytes).write(to: URL(filePath: source))
        let error = await #expect(throws: (any Error).self) {
            try await unmovable.saveFileFromUri(
                localUri: source, mediaType: "image/jpeg", fileExtension: "jpg", metaData: nil, id: nil,
                updateHook: { _, _ in })
        }
        #expect(error.map { String(describing: $0) }?.contains("moveFile") == true)
        #expect(FileManager.default.contents(atPath: source) == Data(bytes), "it is where it was")
        try await unmovable.close()
    }

    @Test(.behaviour(199)) func filesStreamBothWaysAndAStatusIsAnError() async throws {
        try await StorageRig.run { rig in
            let up = [UInt8](repeating: 1, count: 2_048)
            let down = [UInt8](repeating: 2, count: 4_096)
            let client = rig.client()
            let source = try rig.write(up)
            try await client.upload(attachment: .row("up"), localUri: source, progress: { _ in })
            #expect(rig.file("up") == up)
            #expect(rig.stored[0].request.fields["x-custom"] == "value")
            #expect(rig.stored[0].request.fields["content-length"] == "2048")
            rig.store(down, as: "down")
            let path = rig.folder.file("down")
            try await client.download(attachment: .row("down"), localUri: path, progress: { _ in })
            #expect(rig.read(path) == down)
            rig.script { exchange, _ in exchange.isStorage ? HTTPResponse(status: 500) : nil }
            let failures = [
                await client.uploadFailure("other", source),
                await client.downloadFailure("down", rig.folder.file("again")),
            ]
            for failure in failures {
                #expect(failure?.localizedDescription.contains("failed with status 500") == true)
                #expect(failure?.status == 500)
            }
        }
    }

    // MARK: Data

    @Test func dataGoesThroughATemporaryFile() async throws {
        let transport = RecordingTransport(bytes: [7, 8, 9])
        try await transport.uploadFile(fileData: Data([1, 2]), attachment: .row("a"))
        #expect(try await transport.downloadFile(attachment: .row("b")) == Data([7, 8, 9]))
        try await transport.deleteFile(attachment: .row("c"))
        #expect(transport.uploads.map(\.bytes) == [[1, 2]])
        #expect(transport.downloads.map(\.attachment.id) == ["b"])
        #expect(transport.deletes == ["c"])
        for path in transport.uploads.map(\.path) + transport.downloads.map(\.path) {
            #expect(!FileManager.default.fileExists(atPath: FilePlace(path).folder), "nothing is left of it")
        }
    }

    @Test func anErrorHasItsSentence() {
        let error = AttachmentStorageError(.conflict, "a sentence", status: 409)
        #expect(error.localizedDescription == "a sentence" && "\(error)" == "a sentence")
        #expect(error.code.description == "conflict" && error.status == 409)
        #expect(error == AttachmentStorageError(.init(rawValue: "conflict"), "a sentence", status: 409))
    }
}

/// A storage of the app's own that keeps what it was asked, and brings the same bytes always.
private final class RecordingTransport: AttachmentTransportAdapter {
    struct Call: Sendable {
        let attachment: Attachment
        let path: String
        var bytes: [UInt8] = []
    }

    private struct State {
        var uploads: [Call] = []
        var downloads: [Call] = []
        var deletes: [String] = []
    }

    private let state = Lock(State())
    private let bytes: [UInt8]
    private let buffered = Lock(0)

    init(bytes: [UInt8] = []) { self.bytes = bytes }

    var uploads: [Call] { state.withLock { $0.uploads } }
    var downloads: [Call] { state.withLock { $0.downloads } }
    var deletes: [String] { state.withLock { $0.deletes } }
    /// How many files came or went as data: those have a folder of their own.
    var buffers: Int {
        (uploads + downloads).count { FilePlace($0.path).folder.contains("powersync-attachment-") }
    }

    func upload(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: localUri)))
        state.withLock { $0.uploads.append(Call(attachment: attachment, path: localUri, bytes: bytes)) }
    }

    func download(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws {
        state.withLock { $0.downloads.append(Call(attachment: attachment, path: localUri)) }
        try FileManager.default.createDirectory(
            atPath: FilePlace(localUri).folder, withIntermediateDirectories: true, attributes: nil)
        try Data(bytes).write(to: URL(filePath: localUri))
    }

    func delete(attachment: Attachment) async throws {
        state.withLock { $0.deletes.append(attachment.id) }
    }
}

/// A local storage that cannot move files.
private struct PlainStorage: LocalStorageAdapter {
    private let disk = FileManagerStorageAdapter()

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await disk.saveFile(filePath: filePath, data: data)
    }
    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await disk.readFile(filePath: filePath, mediaType: mediaType)
    }
    func deleteFile(filePath: String) async throws { try await disk.deleteFile(filePath: filePath) }
    func fileExists(filePath: String) async throws -> Bool { try await disk.fileExists(filePath: filePath) }
    func makeDir(path: String) async throws { try await disk.makeDir(path: path) }
    func rmDir(path: String) async throws { try await disk.rmDir(path: path) }
    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await disk.copyFile(sourcePath: sourcePath, targetPath: targetPath)
    }
}

/// A local storage that can, and keeps what it was asked.
private final class MovingStorage: MovingStorageAdapter {
    private let disk = FileManagerStorageAdapter()
    private let asked = Lock<[String]>([])

    var calls: [String] { asked.withLock { $0 } }

    private func note(_ call: String) { asked.withLock { $0.append(call) } }

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        note("save")
        return try await disk.saveFile(filePath: filePath, data: data)
    }
    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        note("read")
        return try await disk.readFile(filePath: filePath, mediaType: mediaType)
    }
    func deleteFile(filePath: String) async throws { try await disk.deleteFile(filePath: filePath) }
    func fileExists(filePath: String) async throws -> Bool { try await disk.fileExists(filePath: filePath) }
    func makeDir(path: String) async throws { try await disk.makeDir(path: path) }
    func rmDir(path: String) async throws { try await disk.rmDir(path: path) }
    func copyFile(sourcePath: String, targetPath: String) async throws {
        note("copy")
        try await disk.copyFile(sourcePath: sourcePath, targetPath: targetPath)
    }
    func moveFile(sourcePath: String, targetPath: String) async throws {
        note("move")
        try await disk.moveFile(sourcePath: sourcePath, targetPath: targetPath)
    }
}
