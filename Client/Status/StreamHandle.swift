import Foundation
import PowerSyncSystem
import PowerSyncWire

extension StreamKey {
    /// The identity of a stream with parameters: equal parameters give equal texts.
    init(name: String, params: JsonParam?) {
        self.init(name: name, parameters: params?.json.text)
    }
}

/// A stream of a database, to subscribe to.
struct StreamReference: SyncStream {
    let name: String
    let parameters: JsonParam?
    let database: LocalDatabase

    private var key: StreamKey { StreamKey(name: name, params: parameters) }

    func subscribe(ttl: TimeInterval?, priority: BucketPriority?) async throws -> any SyncStreamSubscription {
        let wish = StreamRegistry.Wish(
            timeToLive: ttl.map { Int64(min(max(0, $0), TimeInterval(SyncStore.longestTimeToLive))) },
            priority: priority.map { Int($0.priorityCode) })
        let generation = try await database.subscribe(key, wish: wish)
        return StreamHandle(
            name: name, parameters: parameters, key: key, generation: generation, database: database)
    }

    func unsubscribeAll() async throws {
        try await database.unsubscribeAll(key)
    }
}

/// A handle that keeps a stream subscribed until it is given up or goes away.
final class StreamHandle: SyncStreamSubscription {
    let name: String
    let parameters: JsonParam?
    private let key: StreamKey
    private let generation: Int
    private let database: LocalDatabase
    private let isReleased = Lock(false)

    init(name: String, parameters: JsonParam?, key: StreamKey, generation: Int, database: LocalDatabase) {
        self.name = name
        self.parameters = parameters
        self.key = key
        self.generation = generation
        self.database = database
    }

    deinit {
        release()
    }

    func waitForFirstSync() async throws {
        let stream = SyncSubscriptionDescription(
            name: name, parameters: parameters, active: false, isDefault: false,
            hasExplicitSubscription: true,
            expiresAt: nil, lastSyncedAt: nil)
        try await database.waitForStatus { $0.forStream(stream: stream)?.subscription.hasSynced == true }
    }

    func unsubscribe() async throws {
        release()
    }

    private func release() {
        let isFirst = isReleased.withLock { isReleased in
            defer { isReleased = true }
            return !isReleased
        }
        if isFirst { database.release(key, generation: generation) }
    }
}
