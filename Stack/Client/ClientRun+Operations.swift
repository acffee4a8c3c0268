import PowerSync
import PowerSyncSystem
import PowerSyncWire

/// What commands do, and how their answers spell it.
extension ClientRun {
    /// Changes something.
    ///
    /// - Returns: what the answer says.
    /// - Throws: what the SDK throws.
    func perform(_ change: ClientRequest.Change) async throws -> [JSONMember] {
        switch change {
        case .write(let statements):
            let outcomes = try await operations.write(statements, mapper: { try ClientValue.row($0) })
            return [JSONMember("results", .array(outcomes.map(Self.result)))]
        case .connect(let retry, let throttle):
            try await operations.connect(retry: retry, throttle: throttle)
        case .disconnect: try await operations.disconnect()
        case .clear(let soft): try await operations.clear(soft: soft)
        case .stream(let stream, let timeToLive, let priority):
            try await operations.subscribe(
                to: stream, timeToLive: timeToLive, priority: priority.map { BucketPriority($0) })
        case .unstream(let stream, let all):
            guard try await operations.unsubscribe(from: stream, all: all) else {
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
            let outcome = try await operations.read(statement, mapper: { try ClientValue.row($0) })
            guard case .rows(let rows) = outcome else { return [JSONMember("rows", .array([]))] }
            return [JSONMember("rows", .array(rows))]
        case .status: return ClientAnswer.status(try await operations.status())
        case .crudCount:
            let stats = try await operations.database.getUploadQueueStats()
            return [JSONMember("count", .integer(stats.count))]
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
            try await operations.watch(
                statement, throttle: throttle, mapper: { try ClientValue.row($0) }
            ) { rows in
                if !isAnswered { output.put(ClientAnswer.success(id).text) }
                isAnswered = true
                output.put(ClientAnswer.watch(id, at: WallClock.microseconds(), rows).text)
                // Nothing is asked for meanwhile, so a program that does not read gets the newest result later.
                await output.room()
            }
            if !isAnswered { throw CancellationError() }
        } catch is CancellationError where isAnswered {
            // The end of a watch, also in the midst of its query, is no failure of it.
        } catch {
            output.put(
                (isAnswered
                    ? ClientAnswer.watch(id, at: WallClock.microseconds(), failed: error)
                    : ClientAnswer.failure(id, error)).text)
        }
    }

    private static func result(_ outcome: StatementOutcome<JSON>) -> JSON {
        switch outcome {
        case .rows(let rows): .array(rows)
        case .changes(let count): .integer(count)
        }
    }
}
