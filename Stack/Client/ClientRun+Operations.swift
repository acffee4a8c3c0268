import PowerSync
import PowerSyncSystem
import PowerSyncWire

/// What commands do, and how their answers spell it.
extension ClientRun {
    /// Changes something.
    ///
    /// - Returns: what the answer says.
    /// - Throws: what the SDK throws.
    func perform(_ change: ClientRequest.Change) async throws -> ClientAnswer.Content {
        switch change {
        case .write(let statements):
            // There is one at a time, by its turn.
            await output.room()
            let rows = AnswerRows(limit: answerLimit)
            let outcomes = try await operations.write(statements, mapper: { try rows.take($0) })
            return .spelled("results", rows.results(of: outcomes))
        case .connect(let retry, let throttle):
            try await operations.connect(retry: retry, throttle: throttle)
        case .disconnect: try await operations.disconnect()
        case .clear(let soft): try await operations.clear(soft: soft)
        case .discard: return .members([JSONMember("count", .integer(try await operations.discard()))])
        case .stream(let stream, let timeToLive, let priority):
            try await operations.subscribe(
                to: stream, timeToLive: timeToLive, priority: priority.map { BucketPriority($0) })
        case .unstream(let stream, let all):
            guard try await operations.unsubscribe(from: stream, all: all) else {
                throw ClientError(
                    "this client holds no such stream; \"all\":true ends what others have asked for",
                    code: .invalidState)
            }
        case .attach(let file, let mediaType, let statements):
            let id = try await operations.attach(file, mediaType: mediaType, statements)
            return .members([JSONMember("attachment_id", .string(id))])
        case .deleteAttachment(let id, let statements):
            try await operations.deleteAttachment(id, statements)
        }
        return .members([])
    }

    /// Looks at something.
    ///
    /// - Parameters:
    ///   - look: at what.
    ///   - place: is taken for what may be large, and is left when the answer is on its way.
    /// - Returns: what the answer says.
    /// - Throws: what the SDK throws.
    func perform(_ look: ClientRequest.Look, at place: AnswerPlace) async throws -> ClientAnswer.Content {
        switch look {
        case .read(let statement):
            try await place.take()
            let rows = AnswerRows(limit: answerLimit)
            _ = try await operations.read(statement, mapper: { _ = try rows.take($0) })
            return .spelled("rows", rows.takeArray())
        case .status: return .members(ClientAnswer.status(try await operations.status()))
        case .crudCount:
            let stats = try await operations.database.getUploadQueueStats()
            return .members([JSONMember("count", .integer(stats.count))])
        case .attachments:
            try await place.take()
            let rows = AnswerRows(limit: answerLimit)
            _ = try await operations.listAttachments(mapper: { _ = try rows.take($0) })
            return .spelled("rows", rows.takeArray())
        case .export(let id, let file):
            try await operations.exportAttachment(id, to: file)
            return .members([])
        }
    }

    /// Tells the results of a query until the task is cancelled; the answer comes with the first one, or with what is
    /// wrong.
    ///
    /// - Parameters:
    ///   - watch: the watch that the results are of.
    ///   - statement: the query.
    ///   - throttle: the least time between two results, in seconds.
    ///   - last: the turn that must be over before the first result.
    func follow(
        _ watch: OpenWatch, _ statement: ClientStatement, throttle: Double, after last: Int
    ) async {
        let id = watch.id
        var isAnswered = false
        let rows = AnswerRows(limit: answerLimit)
        let place = AnswerPlace(among: places, output)
        defer { place.leave() }
        do {
            try await order.wait(for: last)
            try await operations.watch(
                statement, throttle: throttle,
                before: {
                    // A program that does not read gets the newest result later.
                    try await place.take()
                    rows.reset()
                }, mapper: { _ = try rows.take($0) }
            ) { _ in
                if !isAnswered { output.put(ClientAnswer.success(id)) }
                isAnswered = true
                output.put(ClientAnswer.watch(id, at: WallClock.microseconds(), rows.takeArray()))
                place.leave()
            }
            if !isAnswered { throw CancellationError() }
        } catch is CancellationError where isAnswered {
            // The end of a watch, also in the midst of its query, is no failure of it.
        } catch is CancellationError where watch.isUnwanted {
            let error = ClientError("unwatch has ended it before its first result", code: .closed)
            output.put(ClientAnswer.failure(id, error).text)
        } catch {
            output.put(
                (isAnswered
                    ? ClientAnswer.watch(id, at: WallClock.microseconds(), failed: error)
                    : ClientAnswer.failure(id, error)).text)
        }
    }
}
