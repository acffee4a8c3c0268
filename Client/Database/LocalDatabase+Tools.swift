/// What tools of this package ask of a database beside what an app does.
extension LocalDatabase: StatementWatching {
    func watch<Row>(
        options: WatchOptions<Row>, unless isUnwanted: @escaping @Sendable () -> Bool,
        before prepare: @escaping @Sendable () async throws -> Void
    ) throws -> AsyncThrowingStream<[Row], any Error> {
        if isClosed { throw PowerSyncError.closed }
        return WatchedQuery(options, of: self, unless: isUnwanted, before: prepare).results()
    }
}

extension LocalDatabase: StatusObserving {
    func observeStatus(_ observer: @escaping @Sendable (any SyncStatusData) -> Void) -> StatusObservation {
        member.status.observe(observer)
    }
}
