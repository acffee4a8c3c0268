import Foundation
import PowerSync

/// A database of another making, which is what its protocol says and no more.
struct ForeignDatabase: PowerSyncDatabaseProtocol {
    let base: any PowerSyncDatabaseProtocol
    /// Called behind each read, before its result is told.
    var afterRead: @Sendable () async throws -> Void = {}
    /// Called before each write; what it throws, that fails with.
    var beforeWrite: @Sendable () async throws -> Void = {}

    var currentStatus: any SyncStatus { base.currentStatus }
    var logger: any LoggerProtocol { base.logger }

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        try base.watch(options: options)
    }

    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try await beforeWrite()
        return try await base.writeLock(callback: callback)
    }

    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        let result = try await base.readLock(callback: callback)
        try await afterRead()
        return result
    }

    func waitForFirstSync() async throws { try await base.waitForFirstSync() }
    func waitForFirstSync(priority: Int32) async throws {
        try await base.waitForFirstSync(priority: priority)
    }
    func updateSchema(schema: any SchemaProtocol) async throws { try await base.updateSchema(schema: schema) }
    func connect(
        connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?
    ) async throws { try await base.connect(connector: connector, options: options) }
    func getPowerSyncVersion() async throws -> String { try await base.getPowerSyncVersion() }
    func disconnect() async throws { try await base.disconnect() }
    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws {
        try await base.disconnectAndClear(clearLocal: clearLocal, soft: soft)
    }
    func syncStream(name: String, params: JsonParam?) -> any SyncStream {
        base.syncStream(name: name, params: params)
    }
    func close() async throws { try await base.close() }
    func close(deleteDatabase: Bool) async throws { try await base.close(deleteDatabase: deleteDatabase) }
}
