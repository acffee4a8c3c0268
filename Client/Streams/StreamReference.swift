import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StreamKey {
    /// The identity of a stream with parameters: equal parameters give equal texts.
    init(name: String, params: JsonParam?) {
        self.init(name: name, parameters: params?.json.text)
    }

    /// Refuses parameters that could not be read again: from the table of subscriptions, or from a request.
    func check() throws(PowerSyncError) {
        guard let parameters else { return }
        do {
            _ = try JSON.parse(parameters, limits: Self.limits)
        } catch {
            throw PowerSyncError(
                .invalidArgument, "The parameters of the stream cannot be sent", detail: error.message)
        }
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
        let number = try await database.subscribe(key, wish: wish)
        return StreamHandle(
            name: name, parameters: parameters, key: key, number: number, database: database)
    }

    func unsubscribeAll() async throws {
        try await database.unsubscribeAll(key)
    }
}
