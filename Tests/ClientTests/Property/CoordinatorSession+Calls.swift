import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSync

/// What the app, the backend and the service answer.
extension CoordinatorSession {
    /// Answers one of the calls that wait; false if there is none.
    func answerACall() throws -> Bool {
        var answers: [() throws -> Void] = []
        for call in fetches.all { answers.append { try self.answer(fetch: call) } }
        for call in transport.opens.all { answers.append { try self.answer(open: call) } }
        for call in transport.sends.all { answers.append { try self.answer(send: call) } }
        for call in uploads.all { answers.append { try self.answer(upload: call) } }
        guard !answers.isEmpty else { return false }
        let answer = random.pick(answers)
        try answer()
        return true
    }

    /// Whether a call fails.
    private func fails(once count: Int) -> Bool { !isCalm && random.once(in: count) }

    private func answer(fetch call: WaitingCalls<SyncCredentials?>.Call) throws {
        // Else an upload waits for them, or they are fetched ahead.
        let isStreamWaiting = (shown.last.connecting || isReplacing) && transport.opens.all.isEmpty
        if fails(once: 6) {
            let result: Result<SyncCredentials?, any Error> =
                random.once(in: 2) ? .success(nil) : .failure(ScriptError("nobody is signed in"))
            return try act("no credentials", isStreamWaiting ? .ends : .same) {
                fetches.answer(call, result)
            }
        }
        tokens += 1
        let credentials = SyncCredentials(endpoint: "https://service.test", token: "token-\(tokens)")
        try act("credentials \(tokens)", isStreamWaiting ? .same : .mayRestart) {
            fetches.answer(call, .success(credentials))
        }
    }

    private func answer(open call: WaitingCalls<ScriptedStream>.Call) throws {
        if fails(once: 4) {
            let json = [SyncHTTPHeader("Content-Type", "application/json")]
            let result: Result<ScriptedStream, any Error>
            switch random.below(4) {
            case 0:
                meet(.refusedToken)
                refusedTokens.insert(token(of: call.request))
                result = .success(ScriptedStream(status: 401, headers: json))
            case 1: result = .success(ScriptedStream(status: 503, headers: json))
            case 2: result = .success(ScriptedStream(status: 200, headers: json))
            default: result = .failure(ScriptError("connection refused"))
            }
            return try act("no stream: \(result)", .ends) { transport.opens.answer(call, result) }
        }
        let next = try serviceStream(for: call.request)
        sendsBinary = isBinary && !random.once(in: 4)
        let format: SyncLineFormat = sendsBinary ? .bson : .json
        let wire = ScriptedStream(
            status: 200, headers: [SyncHTTPHeader("Content-Type", format.mediaType)])
        try act("a stream", .same) {
            self.wire = wire
            isReplacing = false
            stream = next
            pipe = LinePipe()
            transport.opens.answer(call, .success(wire))
        }
        try require(shown.last.connected, "a stream that was opened is not shown as connected")
    }

    func token(of request: SyncHTTPRequest?) -> String {
        request?.headers.first { $0.name == "Authorization" }?.value ?? "none"
    }

    /// Compares a request with what is stored, and begins to answer it.
    private func serviceStream(for request: SyncHTTPRequest?) throws -> ServiceStream {
        let body = try JSON.parse(request?.body ?? [])
        let buckets = (body["buckets"]?.arrayValue ?? []).map { bucket in
            (bucket["name"]?.stringValue ?? "", bucket["after"]?.stringValue.flatMap { Int64($0) } ?? -1)
        }
        try require(
            buckets.map { "\($0) \($1)" } == model.buckets.map { "\($0.name) \($0.last)" },
            "the request carries \(buckets) instead of the stored positions")
        let subscriptions = (body["streams"]?["subscriptions"]?.arrayValue ?? []).map { subscription in
            Subscription.Key(
                name: subscription["stream"]?.stringValue ?? "",
                parameters: subscription["parameters"].flatMap { $0 == .null ? nil : $0.text })
        }
        try require(
            subscriptions == model.requested,
            "the request carries the subscriptions \(subscriptions) instead of \(model.requested)")
        return ServiceStream(
            positions: Dictionary(uniqueKeysWithValues: buckets),
            subscriptions: subscriptions.compactMap(\.parameters))
    }

    // MARK: Write checkpoints (client-core 8.2, 8.4)

    private func answer(send call: WaitingCalls<SyncHTTPResponse>.Call) throws {
        if fails(once: 5) {
            meet(.failedCheckpoint)
            let result: Result<SyncHTTPResponse, any Error>
            switch random.below(3) {
            case 0:
                refusedTokens.insert(token(of: call.request))
                result = .success(.status(401))
            case 1: result = .success(.status(404))
            default: result = .failure(ScriptError("connection refused"))
            }
            // That of a stream ends it, that of an upload is tried again.
            return try act("no checkpoint: \(result)", usesRequests ? .mayEnd : .same) {
                transport.sends.answer(call, result)
            }
        }
        guard usesRequests else {
            let id = service.nextWriteCheckpoint()
            // Writes of meanwhile come first.
            if model.queue.isEmpty { change { $0.target = id } } else { meet(.overtakenCheckpoint) }
            return try act("write checkpoint \(id)", .same) {
                transport.sends.answer(call, .success(.writeCheckpoint(Int(id))))
            }
        }
        let body = try JSON.parse(call.request?.body ?? [])
        guard let id = body["checkpoint_request_id"]?.stringValue.flatMap({ Int64($0) }) else {
            throw SessionFailure(message: "a checkpoint request without a number")
        }
        let answer = service.take(writeCheckpoint: id)
        if model.queue.isEmpty, model.target == ClientModel.unknown {
            // If it was sent for an upload, and not for the stream.
            possible += possible.map { states in
                states.map { state in
                    var model = state.model
                    model.target = answer
                    return PossibleState(model)
                }
            }
        }
        try act("checkpoint request \(id) is \(answer)", .same) {
            let text = "{\"data\":{\"checkpoint_request_id\":\"\(answer)\"}}"
            transport.sends.answer(call, .success(SyncHTTPResponse(status: 200, body: Array(text.utf8))))
        }
        if model.target == answer { meet(.requestedCheckpoint) }
    }

    // MARK: Uploads (client-core 8.1)

    private func answer(upload call: WaitingCalls<Upload>.Call) throws {
        guard let entries = model.queue.first else {
            throw SessionFailure(message: "an upload of an empty queue")
        }
        let rows = try reader.query(CrudQueue.nextTransaction, [.integer(-1)]) {
            (id: $0.int64(0), data: $0.string(2))
        }
        try require(
            rows.map(\.data) == entries.map(\.text),
            "the next upload is \(rows.map(\.data)) instead of \(entries.map(\.text))")
        if fails(once: 6) {
            let isStalled = random.once(in: 2)
            meet(isStalled ? .stalledUpload : .failedUpload)
            return try fail(call, isStalled ? .success(.nothing) : .failure(ScriptError("backend is down")))
        }
        note("upload \(entries.map(\.text))")
        for entry in entries where ModelRow.tables.contains(entry.row.type) {
            // A backend may refuse a change; then the client's goes away again.
            if fails(once: 8) { continue }
            service.apply(entry, checksum: UInt32(truncatingIfNeeded: random.next()))
        }
        if fails(once: 8) {
            // The same changes are sent again.
            meet(.lostAnswer)
            return try fail(call, .failure(ScriptError("the answer is lost")))
        }
        // Ids of two kinds would not rise together.
        let isCustom = !usesRequests && model.queue.count == 1 && random.once(in: 6)
        let custom = isCustom ? service.nextWriteCheckpoint() : nil
        change { $0.completeUpload(of: 1, writeCheckpoint: custom) }
        try act("complete, write checkpoint \(custom.map(String.init) ?? "-")", .same) {
            uploads.answer(call, .success(.complete(through: rows.last?.id ?? 0, writeCheckpoint: custom)))
        }
    }

    private func fail(_ call: WaitingCalls<Upload>.Call, _ result: Result<Upload, any Error>) throws {
        try act("the upload fails", .same) { uploads.answer(call, result) }
        try require(uploads.all.isEmpty, "an upload that failed is tried again at once")
        // That the queue has not moved is noticed when it is looked at again, for which there must be a stream.
        let isNoticed = if case .failure = result { true } else { shown.last.connected }
        try require(!isNoticed || shown.last.uploadError != nil, "an upload that failed is not shown")
        if shown.last.connected {
            try require(
                clock.waiting.contains(.seconds(5)), "an upload that failed is not tried again in 5 s")
        }
    }
}
