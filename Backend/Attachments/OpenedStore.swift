import PowerSyncCommandLine
import PowerSyncHTTPClient

/// A store of attachments that can be used, with the routes that serve it where that is the backend's to do.
struct OpenedStore: Sendable {
    /// The store.
    let store: any ObjectStore
    /// What answers its signed URLs; nil where others do.
    let blobs: BlobRoutes?
    /// Whether it is a service, which may refuse what the backend needs of it.
    let isService: Bool

    /// Takes a store that others serve.
    init(_ store: any ObjectStore) {
        self.store = store
        blobs = nil
        isService = false
    }

    /// Opens the store of a configuration.
    ///
    /// - Parameters:
    ///   - configuration: where it is.
    ///   - environment: the time.
    ///   - bytesPerSecond: how fast a client must take what it downloads.
    ///   - port: the port that the backend listens on, once it does.
    ///   - log: is told what is wrong with a disk.
    /// - Throws: `BackendError` that says what to change.
    init(
        _ configuration: AttachmentConfiguration, environment: BackendEnvironment, bytesPerSecond: Int,
        port: @escaping @Sendable () -> Int, log: Log
    ) throws(BackendError) {
        switch configuration.store {
        case .disk(let folder):
            // What a request calls the backend is not believed: its sender may have chosen the name.
            let publicURL = configuration.publicURL
            let disk = try DiskStore(folder: folder, publicURL: { publicURL ?? "http://127.0.0.1:\(port())" })
            store = disk
            isService = false
            blobs = BlobRoutes(
                store: disk, now: { Int64(environment.now()) }, bytesPerSecond: bytesPerSecond, log: log)
        case .s3(let bucket):
            do throws(HTTPClientError) {
                store = S3Store(bucket, client: try HTTPClient())
            } catch {
                throw BackendError(
                    .configuration, "there can be no client for ATTACHMENTS_STORE: \(error)", cause: error)
            }
            blobs = nil
            isService = true
        }
    }

    /// Asks a service for an object that nobody has made: where that is refused, every upload that was cut would be, too.
    ///
    /// One that does not answer is asked again by whoever needs it.
    ///
    /// - Parameters:
    ///   - calls: the way to it.
    ///   - name: a key that nothing has.
    ///   - deadline: until when to wait.
    /// - Throws: `BackendError` that says what to change, `CancellationError`.
    static func requireRights(
        _ calls: StoreCalls, name: String, until deadline: ContinuousClock.Instant
    ) async throws {
        let refusal: ObjectStoreError?
        do {
            refusal = try await calls.call(until: deadline) { store -> ObjectStoreError? in
                do {
                    _ = try await store.head(key: name)
                    return nil
                } catch let error as ObjectStoreError where error.kind == .refused {
                    return error
                }
            }
        } catch is Problem {
            // The log has it.
            return
        }
        if let refusal {
            throw BackendError(
                .configuration,
                "\(ObjectStoreConfiguration.variable) names a store that cannot be used: \(refusal.message)",
                cause: refusal)
        }
    }
}
