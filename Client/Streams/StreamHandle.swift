import PowerSyncSystem

/// A handle that keeps a stream subscribed until it is given up or goes away.
final class StreamHandle: SyncStreamSubscription {
    let name: String
    let parameters: JsonParam?
    private let key: StreamKey
    private let number: Int
    private let database: LocalDatabase
    private let isReleased = Lock(false)

    init(name: String, parameters: JsonParam?, key: StreamKey, number: Int, database: LocalDatabase) {
        self.name = name
        self.parameters = parameters
        self.key = key
        self.number = number
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
        if isFirst { database.release(key, handle: number) }
    }
}
