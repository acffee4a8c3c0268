import PowerSync
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// One device: a client database on disk, its connector, and the wires that can be cut.
package final class DemoDevice: Sendable {
    /// What the timeline calls it.
    package let name: String
    /// Whose device it is.
    package let user: String
    /// The client database.
    package let database: any PowerSyncDatabaseProtocol
    /// The app's connector.
    package let connector: BackendConnector
    /// The folder with the files of the database.
    package let folder: String
    private let wires: [CuttableProxy]
    private let refused: Lock<[UploadVerdict]>

    private static let keptRefusals = 100
    /// What the names of all files of the database begin with.
    private static let databaseName = "device.sqlite"

    /// Makes a device that is not connected yet.
    ///
    /// - Parameters:
    ///   - name: what the timeline calls it.
    ///   - user: whose device it is.
    ///   - folder: a new folder of its own.
    ///   - backend: the backend's URL as the device reaches it.
    ///   - service: the service's URL as the device reaches it.
    ///   - wires: the proxies that these URLs lead through, if any.
    /// - Throws: `StackError` if the folder cannot be made.
    package init(
        name: String, user: String, folder: String, backend: String, service: String,
        wires: [CuttableProxy] = []
    ) throws {
        self.name = name
        self.user = user
        self.folder = folder
        self.wires = wires
        try PrivateFile.makeFolder(folder)
        let refused = Lock<[UploadVerdict]>([])
        self.refused = refused
        connector = BackendConnector(
            url: backend, user: user, endpoint: service,
            onVerdict: { verdict in
                guard verdict.outcome == .rejected else { return }
                refused.withLock { $0 = ($0 + [verdict]).suffix(DemoDevice.keptRefusals) }
            })
        database = PowerSyncDatabase(
            schema: DemoSchema.client, dbFilename: folder + "/" + Self.databaseName, logger: SilentLogger())
    }

    /// Makes a queue for the pictures of todos, which transfers none before it is started, and has to be closed before the
    /// database.
    ///
    /// What failed is tried again soon, so that nobody waits; a picture that no todo names is not kept.
    package func pictures() -> AttachmentQueue {
        let database = database
        return AttachmentQueue(
            db: database, remoteStorage: SignedURLStorage(connector: connector),
            attachmentsDirectory: folder + "/pictures",
            watchAttachments: {
                try database.watch(DemoSchema.watchedPictures) { cursor in
                    WatchedAttachmentItem(
                        id: try cursor.getString(index: 0), fileExtension: DemoPicture.fileExtension)
                }
            },
            syncInterval: 0.5, archivedCacheLimit: 0, syncThrottleDuration: 0.1, logger: SilentLogger())
    }

    /// The last transactions that the backend refused, at most a hundred.
    package var refusals: [UploadVerdict] { refused.withLock { $0 } }

    /// Starts syncing, with short delays so that nobody waits.
    package func connect() async throws {
        try await database.connect(
            connector: connector, options: ConnectOptions(crudThrottle: 0.05, retryDelay: 0.3))
    }

    /// Cuts the device off from everything; its app does not notice anything but silence.
    package func cutOff() { for wire in wires { wire.cut() } }

    /// Lets so many more bytes through to the device, then nothing; its connections stay open.
    package func stall(after bytes: Int) { for wire in wires { wire.stall(after: bytes) } }

    /// Whether a connection of the device stands still since `stall`.
    package var isStalled: Bool { wires.contains(where: \.isStalled) }

    /// Gives it back its network.
    package func heal() { for wire in wires { wire.heal() } }

    /// Returns every row, one text a row, in a fixed order.
    package func rows() async throws -> [String] {
        try await database.getAll(DemoSchema.rowsOnDevice) { try $0.getString(index: 0) }
    }

    /// Returns the number that a query yields.
    package func count(_ sql: String, _ parameters: [(any Sendable)?] = []) async throws -> Int {
        try await database.get(sql: sql, parameters: parameters) { try $0.getInt(index: 0) }
    }

    /// Waits until a watched query yields a result that satisfies the condition.
    ///
    /// - Parameters:
    ///   - sql: the query; its first column is read as text.
    ///   - parameters: the values of its placeholders.
    ///   - limit: how long to wait.
    ///   - state: what is waited for, in words that complete "waited 10 s for …".
    ///   - condition: gets the first column of every row.
    /// - Returns: the result that satisfied the condition.
    /// - Throws: `StackError` with `.deadline`, or what the query throws.
    @discardableResult
    package func watch(
        _ sql: String, _ parameters: [(any Sendable)?] = [], within limit: Duration = DemoWorld.patience,
        for state: String, until condition: @escaping @Sendable ([String]) -> Bool
    ) async throws -> [String] {
        let database = database
        return try await withThrowingTaskGroup(of: [String].self) { group in
            group.addTask {
                let results = try database.watch(
                    sql: sql, parameters: parameters, mapper: { try $0.getString(index: 0) })
                for try await rows in results where condition(rows) { return rows }
                throw CancellationError()
            }
            group.addTask {
                try await Deadline.wait(limit, pause: .milliseconds(25), for: state) {
                    Optional<[String]>.none
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    /// Returns those of the texts that occur anywhere in the files of the database.
    package func textsInFiles(_ texts: [String]) throws -> Set<String> {
        var found: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder)
        where file.hasPrefix(Self.databaseName) {
            let bytes = try Data(contentsOf: URL(filePath: folder + "/" + file))
            found.formUnion(texts.filter { Self.occurs(Array($0.utf8), in: bytes) })
        }
        return found
    }

    /// Searches by the first byte: `Data.firstRange(of:)` takes seconds for some megabytes without optimization.
    private static func occurs(_ needle: [UInt8], in bytes: Data) -> Bool {
        guard let first = needle.first else { return true }
        return bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            var offset = 0
            while let hit = memchr(base + offset, Int32(first), bytes.count - offset) {
                offset = UnsafeRawPointer(hit) - base
                guard offset + needle.count <= bytes.count else { return false }
                if memcmp(base + offset, needle, needle.count) == 0 { return true }
                offset += 1
            }
            return false
        }
    }
}

/// A logger for clients whose trouble is part of the show.
struct SilentLogger: LoggerProtocol {
    func info(_ message: String, tag: String?) {}
    func error(_ message: String, tag: String?) {}
    func debug(_ message: String, tag: String?) {}
    func warning(_ message: String, tag: String?) {}
    func fault(_ message: String, tag: String?) {}
}
