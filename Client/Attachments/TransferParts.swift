/// What the transfers of a queue work with.
struct TransferParts: Sendable {
    let remote: any RemoteStorageAdapter
    let local: LocalFiles
    let service: any AttachmentServiceProtocol
    /// Decides about errors; nil to try again for ever.
    let errorHandler: (any SyncErrorHandler)?
    let logger: any LoggerProtocol
    let progress: AttachmentProgress
    let environment: SyncEnvironment

    /// The storage, if bytes go straight from and to files; nil if they go through memory.
    var transport: (any AttachmentTransportAdapter)? {
        local.files == nil ? nil : remote as? any AttachmentTransportAdapter
    }
}
