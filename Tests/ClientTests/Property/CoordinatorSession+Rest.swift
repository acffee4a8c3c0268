import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport

@testable import PowerSync

/// What holds whenever nothing is left to run, and what is left when everything has come to rest.
extension CoordinatorSession {
    /// Looks at what waits: for the service, for the app, for time.
    func inspect() throws {
        let status = shown.last
        let isUploading = !uploads.all.isEmpty
        let calls = [fetches.all.count, transport.opens.all.count, transport.sends.all.count]
        try require(!status.connected || !status.connecting, "connected and connecting at once")
        try require(uploads.all.count <= 1, "two uploads at once")
        try require(
            status.uploading == isUploading,
            "an upload \(isUploading ? "runs" : "is over"), but is not shown so")
        guard let running else {
            let isQuiet = !status.isActive && !isUploading && calls == [0, 0, 0] && clock.waiting.isEmpty
            try require(isQuiet, "something goes on behind the end: \(calls), \(clock.waiting)")
            return
        }
        try require(!running.isOver.withLock { $0 }, "syncing has ended by itself")
        if isUploading { try require(!model.queue.isEmpty, "an upload of an empty queue") }
        if status.connecting || isReplacing {
            try require(calls[0] + calls[1] > 0, "nobody opens a stream")
        }
        if !status.isActive { try require(!clock.waiting.isEmpty, "nobody connects again") }
        try require(status.connected == (wire != nil || isReplacing), "connected: \(status.connected)")
        guard let wire else { return }
        try require(wire.isIdle && !wire.isCancelled, "nobody reads the stream")
        if !isUploading, calls[0] + calls[2] == 0, clock.waiting.isEmpty {
            try require(model.queue.isEmpty, "nobody uploads what waits")
            try require(model.target != ClientModel.unknown, "nobody asks for a write checkpoint")
        }
    }

    /// Answers everything until client and service hold the same; then nothing may happen any more.
    func comeToRest() throws {
        note("come to rest")
        isCalm = true
        if running == nil { try start() }
        for _ in 0..<5000 {
            step += 1
            if try answerACall() { continue }
            guard let stream else {
                try require(!clock.waiting.isEmpty, "nothing goes on any more")
                try passTime()
                continue
            }
            if pipe.count > 0 || !stream.isIdle || stream.isBehind(service, lastSentWriteCheckpoint) {
                try serve()
                try receive(pipe.count)
                continue
            }
            let isUploaded = model.queue.isEmpty && model.target != ClientModel.unknown
            let isAtRest =
                isUploaded && possible.count == 1 && possible[0].count == 1 && model.pending == nil
            if isAtRest, clock.waiting.isEmpty { return try stayAtRest(stream) }
            // What was sent is stored, at the latest after the longest wait for more.
            try require(!clock.waiting.isEmpty, "nothing goes on any more")
            try passTime()
            // Pauses between uploads end, and nothing comes of it; only credentials may be fetched ahead of their end.
            let isQuiet = transport.opens.all.isEmpty && transport.sends.all.isEmpty && uploads.all.isEmpty
            try require(!isAtRest || isQuiet, "at rest something is asked for")
        }
        throw SessionFailure(message: "client and service do not come to rest")
    }

    private func stayAtRest(_ stream: ServiceStream) throws {
        meet(.atRest)
        let rows = model.comparable(model.visible)
        let truth = model.comparable(service.rows(stream.subscriptions))
        try require(
            rows == truth,
            """
            at rest the client shows \(rows.filter { truth[$0.key] != $0.value })
            instead of \(truth.filter { rows[$0.key] != $0.value })
            """)
        try require(model.updated.isEmpty, "at rest rows wait to be looked at")
        try require(model.progress == nil && shown.last.downloading == nil, "at rest a download goes on")
        if rows.keys.contains(where: { $0.type == ClientModel.rawType }) { meet(.rawRow) }
        try require(clock.waiting.isEmpty, "at rest \(clock.waiting) are waited for")
        let calls = [fetches.all.count, transport.opens.all.count, transport.sends.all.count]
        try require(calls == [0, 0, 0] && uploads.all.isEmpty, "at rest something is asked for: \(calls)")
        try nothingHappens("an hour") { clock.advance(by: .seconds(3600)) }
    }
}
