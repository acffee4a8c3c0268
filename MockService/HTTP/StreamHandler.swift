import PowerSyncCommandLine
import PowerSyncCompression
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncWire

/// Opens sync streams (service 1.4, 1.5).
struct StreamHandler: Sendable {
    /// A request that gets no stream.
    struct Refusal: Error {
        let response: HTTPResponse
    }

    let store: ServiceStore
    let frames: FrameStore
    let publisher: Publisher
    let alarm: Alarm
    let slots: ConnectionSlots
    let metrics: ServiceMetrics
    let lines: LineBudget
    let limits: RequestLimits
    let log: Log
    /// Of all streams.
    let compressors = BlockCompressors()

    /// How long the first view may take: clients and proxies give up when nothing comes for longer (service 3.4, 3.9).
    private static let patience = 30.0

    /// Prepares the first line, so that what fails until then still gets a status of its own, and answers.
    func open(_ request: HTTPRequest, _ parameters: JSON, _ token: VerifiedToken) async throws -> HTTPResponse
    {
        let body = try SyncStreamRequest(json: parameters)
        try ServiceRouter.require(clientID: body.clientID)
        guard let slot = slots.take() else { throw Refusal(response: HTTPResponse(status: 429)) }
        let (settled, lookups, attachment) = try attach(body, token)
        let loop = SessionLoop(
            store: store, frames: frames, attachment: attachment, alarm: alarm, slot: slot, metrics: metrics,
            lines: lines, buckets: settled?.buckets ?? [], expiry: token.expiry, lookups: lookups)
        guard let beginning = try await self.beginning(of: loop) else {
            log.warning("no stream was opened: what it begins with could not be read in time")
            throw Refusal(response: ErrorResponse.unexpected("Timeout while waiting for data"))
        }
        let names = attachment.mailbox.buckets
        let session = StreamSession(
            positions: body.buckets.filter { names.contains(ExactText($0.name)) },
            streams: settled?.streams ?? beginning.streams)
        // A list may stand in several fields (RFC 9110 5.3).
        func list(_ name: String) -> String? {
            let values = request.fields.values(name)
            return values.isEmpty ? nil : values.joined(separator: ",")
        }
        let compression = ContentNegotiation.compression(list("accept-encoding"))
        let format = ContentNegotiation.format(list("accept"))
        var fields: HTTPFields = ["content-type": format.rawValue]
        if let compression { fields.append("content-encoding", compression.rawValue) }
        fields.append("x-accel-buffering", "no")
        let client = StreamClient(request: request, body: body, userID: token.userID)
        // The stream lasts for hours: nothing that it names holds the request, whose room was given back by then.
        let lineFormat = LineForm.Format(format, rawData: body.rawData)
        let compressors = compressors
        let log = log
        let publisher = publisher
        let served = attachment.stream
        let stream: @Sendable (any HTTPBodyWriter) async throws -> Void = { writer in
            // The slot, which the loop holds, is free again when this closure is gone, also if it never runs.
            let known = client.logged
            log.info(
                "Sync stream started", known.merging(["buckets": "\(names.count)"]) { $1 })
            let encoder = LineEncoder(lineFormat, compression: compression, compressors)
            var reason = StreamEnd.service
            defer {
                let totals = loop.totals.current
                let stats: [LogKey: String] = [
                    "operations_synced": "\(totals.operations)", "data_synced_bytes": "\(totals.bytes)",
                    "close_reason": reason.rawValue,
                ]
                log.info("Sync stream complete", known.merging(stats) { $1 })
            }
            do {
                try await loop.run(session, beginning, encoder, HTTPLineSink(writer))
            } catch {
                reason = StreamEnd(
                    error, isStopping: publisher.isClosed, isReplaced: publisher.current?.stream != served)
                if (error as? HTTPServerError)?.code == .writeTimeout {
                    log.warning("a client reads too slowly and is dropped", known)
                } else if let error = error as? RequestError {
                    log.error(Self.told(error), known)
                } else if reason == .failure {
                    log.error("a stream failed", known.merging(["error": "\(error)"]) { $1 })
                }
                throw error
            }
        }
        return HTTPResponse(status: 200, fields: fields, body: .stream(stream))
    }

    /// Reads what a stream begins with.
    ///
    /// - Returns: What that is; nil if it took too long.
    /// - Throws: `Refusal` if the request comes to more than it may; what the storage throws.
    private func beginning(of loop: SessionLoop) async throws -> SessionLoop.Sight? {
        let clock = alarm.clock
        do {
            return try await clock.first(until: clock.monotonic() + Self.patience) {
                try await loop.firstView()
            }
        } catch let error as RequestError {
            throw refusal(error)
        }
    }

    /// Resolves a request in the configuration that is served, and attaches its stream to what is published of that.
    ///
    /// - Returns: What it comes to, if the request alone decides; else what finds that out.
    private func attach(
        _ body: SyncStreamRequest, _ token: VerifiedToken
    ) throws -> (settled: SessionBuckets?, lookups: SessionLookups?, attachment: Attachment) {
        let key = ExactText(WriteCheckpointKey.text(userID: token.userID, clientID: body.clientID))
        while true {
            guard let published = publisher.current else {
                throw Refusal(
                    response: ErrorResponse.service(500, "PSYNC_S2302", "No sync config available"))
            }
            // Names are held as long as the stream, and spelled in each line that lists their buckets.
            var lookups = SessionLookups(published.served, body, token: token.payload, limits: limits)
            let settled: SessionBuckets?
            do throws(RequestError) {
                settled = try lookups.settled()
            } catch {
                throw refusal(error)
            }
            let mailbox = Mailbox(buckets: settled?.names ?? [], key: key)
            // Another configuration may have taken its place meanwhile, with other buckets.
            let attachment = try publisher.attach(mailbox, to: published.stream, isOpen: settled == nil)
            if let attachment { return (settled, settled == nil ? lookups : nil, attachment) }
        }
    }

    /// Refuses a request that comes to more than it may.
    private func refusal(_ error: RequestError) -> Refusal {
        log.warning("no stream was opened: \(Self.told(error))")
        return Refusal(response: ErrorResponse.overLimit(error))
    }

    /// All that is told of a request over a limit, for the log.
    private static func told(_ error: RequestError) -> String {
        (["[PSYNC_S2305] \(error.message)"] + error.details).joined(separator: "\n")
    }
}
