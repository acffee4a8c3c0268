import PowerSyncSystem

/// The storage of a backend of this package, which signs URLs for the bytes to go straight to where they are kept.
///
/// The backend says who may upload, download and delete which file; its users are those of the connector. Whether the
/// bytes are kept by a service that speaks S3 or on the disk of the backend makes no difference here.
///
/// ```swift
/// let backend = BackendConnector(
///     url: "https://api.example.com", session: { await account.authorization })
/// let queue = AttachmentQueue(
///     db: database, remoteStorage: SignedURLStorage(connector: backend),
///     attachmentsDirectory: "/var/lib/example/photos",
///     watchAttachments: {
///         try database.watch(
///             options: WatchOptions(sql: "SELECT photo_id FROM users WHERE photo_id IS NOT NULL") {
///                 WatchedAttachmentItem(id: try $0.getString(index: 0), fileExtension: "jpg")
///             })
///     })
/// try await queue.startSync()
/// ```
///
/// - A file is read once before it goes, for its size and its SHA-256; while the backend is out of reach it is not read
///   again. The storage refuses other bytes than those, and takes none in place of what it has.
/// - A file of 8 MiB or more goes in parts of 8 MiB. An upload that was cut goes on with the first part that is not
///   stored, a download with the first byte that is not there. A smaller file is uploaded anew.
/// - What was downloaded counts only if its size and its SHA-256 are those that were told of the upload.
/// - A URL that has become late meanwhile is asked for once more.
/// - A storage without TLS is refused where the backend has it, and so is any other scheme than http and https.
///
/// A file is never held in memory as a whole. Transfers have no limit but silence: 45 seconds without a byte end them.
/// Errors are ``AttachmentStorageError``, and ``PowerSyncAttachmentError`` where the file to upload is missing. Those of
/// a session of the app stay as they are.
///
/// ``delete(attachment:)`` throws ``AttachmentStorageError/Code/unknown`` where the backend knows no such attachment.
/// That it is deleted then is for the caller to say, once the upload queue of the database is empty: before that the row
/// which names it may not have come to the backend.
public final class SignedURLStorage: AttachmentTransportAdapter {
    let backend: AttachmentBackend
    let storage: SignedStorage
    let work = FileWork()
    let digests = KnownDigests()
    let uptime: @Sendable () -> Duration
    /// Is told the size of each piece of a file that is held, for tests.
    let onPiece: (@Sendable (Int) -> Void)?

    /// Makes the storage of the backend that a connector talks to, as the same user and by the same way.
    ///
    /// - Parameter connector: the connector, which the database may be connected with.
    public convenience init(connector: BackendConnector) {
        self.init(connector: connector, through: { try await connector.client.open($0) })
    }

    /// Makes the storage of a backend, for an app with a connector of its own.
    ///
    /// - Parameters:
    ///   - url: the base address of the backend, such as `https://api.example.com`.
    ///   - session: returns the value of the header field `Authorization` for the backend, such as `Bearer …`; nil if
    ///     nobody is signed in. Each request to the backend asks for it, and once more when the backend refuses it
    ///     (status 401). It is never sent to the storage.
    ///   - transport: proxy, authorities and client certificate of the requests to the backend and to the storage; nil
    ///     for those of the system.
    public convenience init(
        url: String, session: @escaping @Sendable () async throws -> String?,
        transport: TransportOptions? = nil
    ) {
        self.init(connector: BackendConnector(url: url, session: session, transport: transport))
    }

    /// Makes it with another way to the storage.
    init(
        connector: BackendConnector, through open: @escaping SignedStorage.Open,
        onPiece: (@Sendable (Int) -> Void)? = nil
    ) {
        backend = AttachmentBackend(connector)
        storage = SignedStorage(connector, through: open)
        uptime = connector.environment.uptime
        self.onPiece = onPiece
    }

    /// Has the backend delete a file; one that was deleted before is deleted.
    ///
    /// - Parameter attachment: the row of the attachment.
    /// - Throws: ``AttachmentStorageError``, with ``AttachmentStorageError/Code/unknown`` as said above.
    public func delete(attachment: Attachment) async throws {
        try await AttachmentStorageError.wrapping { try await backend.delete(attachment.id) }
    }
}

extension SignedURLStorage: CustomStringConvertible, CustomReflectable {
    /// The address of the backend; never a token.
    public var description: String { "SignedURLStorage(url: \(ShownText.address(backend.http.url)))" }

    /// The address of the backend, as `dump` shows it; never a token.
    public var customMirror: Mirror {
        Mirror(self, children: ["url": ShownText.address(backend.http.url)])
    }
}
