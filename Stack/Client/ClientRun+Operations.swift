import PowerSync
import PowerSyncSystem
import PowerSyncWire

/// What commands do.
extension ClientRun {
    /// Changes something.
    ///
    /// - Returns: what the answer says.
    /// - Throws: what the SDK throws.
    func perform(_ change: ClientRequest.Change) async throws -> [JSONMember] {
        switch change {
        case .write(let statements):
            return [JSONMember("results", .array(try await write(statements)))]
        case .connect(let retry, let throttle):
            var options = connectOptions
            options.retryDelay = retry
            options.crudThrottle = throttle
            try await database.connect(connector: connector, options: options)
        case .disconnect: try await database.disconnect()
        case .clear(let soft): try await database.disconnectAndClear(soft: soft)
        case .stream(let stream, let timeToLive, let priority):
            let handle = try await reference(stream)
                .subscribe(ttl: timeToLive, priority: priority.map { BucketPriority($0) })
            streams.hold(stream, handle)
        case .unstream(let stream, let all):
            let handle = streams.release(stream)
            try await handle?.unsubscribe()
            if all {
                try await reference(stream).unsubscribeAll()
            } else if handle == nil {
                throw ClientError(
                    "this client holds no such stream; \"all\":true ends what others have asked for",
                    code: .invalidState)
            }
        }
        return []
    }

    /// Looks at something.
    ///
    /// - Returns: what the answer says.
    /// - Throws: what the SDK throws.
    func perform(_ look: ClientRequest.Look) async throws -> [JSONMember] {
        switch look {
        case .read(let statement):
            let rows = try await database.getAll(
                sql: statement.sql, parameters: statement.arguments, mapper: { try ClientValue.row($0) })
            return [JSONMember("rows", .array(rows))]
        case .status:
            // One state, where the live status could be another one for each question.
            var statuses = database.currentStatus.asFlow().makeAsyncIterator()
            guard let status = await statuses.next() else { throw CancellationError() }
            return ClientAnswer.status(status)
        case .crudCount:
            let count = try await database.get("SELECT count(*) FROM ps_crud") { try $0.getInt64(index: 0) }
            return [JSONMember("count", .integer(count))]
        }
    }

    /// Watches a query until the task is cancelled; the answer comes with the first result, or with what is wrong.
    ///
    /// - Parameters:
    ///   - id: the command's id.
    ///   - statement: the query.
    ///   - throttle: the least time between two results, in seconds.
    ///   - last: the turn that must be over before the first result.
    func watch(_ id: JSON?, _ statement: ClientStatement, throttle: Double, after last: Int) async {
        var isAnswered = false
        do {
            try await order.wait(for: last)
            let results = try database.watch(
                options: WatchOptions(
                    sql: statement.sql, parameters: statement.arguments, throttle: throttle,
                    mapper: { try ClientValue.row($0) }))
            for try await rows in results {
                if !isAnswered { output.put(ClientAnswer.success(id).text) }
                isAnswered = true
                output.put(ClientAnswer.watch(id, at: WallClock.microseconds(), rows).text)
                // Nothing is asked for meanwhile, so a program that does not read gets the newest result later.
                await output.room()
            }
            if !isAnswered { throw CancellationError() }
        } catch {
            output.put(
                (isAnswered
                    ? ClientAnswer.watch(id, at: WallClock.microseconds(), failed: error)
                    : ClientAnswer.failure(id, error)).text)
        }
    }

    private func write(_ statements: [ClientStatement]) async throws -> [JSON] {
        try await database.writeTransaction { transaction in
            guard let context = transaction as? any StatementContext else {
                throw ClientError("this database does not tell what a statement gives", code: .invalidState)
            }
            return try statements.map { statement in
                let outcome = try context.outcome(
                    sql: statement.sql, parameters: statement.arguments, mapper: { try ClientValue.row($0) })
                return switch outcome {
                case .rows(let rows): JSON.array(rows)
                case .changes(let count): JSON.integer(count)
                }
            }
        }
    }

    private func reference(_ stream: ClientStream) -> any SyncStream {
        database.syncStream(name: stream.name, params: stream.parameters)
    }
}
