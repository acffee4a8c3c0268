import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncWire

/// Answers requests (service 1.2).
struct ServiceRouter: Sendable {
    /// What answers from a state.
    struct State: Sendable {
        let writeCheckpoints: WriteCheckpoints
        let streams: StreamHandler
        let admin: AdminRoutes.State
    }

    let authenticator: Authenticator
    let publisher: Publisher
    let health: ServiceHealth
    let clock: ServiceClock
    /// The places of the requests for write checkpoints.
    let checkpointPlaces: TaskPlaces
    /// Whether clients may ask for the probes.
    let answersProbes: Bool
    let admin: AdminRoutes
    /// The state of now; nil while it is made anew.
    let state: @Sendable () -> State?
    let log: Log
    private let refusals = Lock(RepeatedFailures())

    /// The most bytes of a client's id, which is kept for each write checkpoint and as long as a stream; SDKs send 36.
    private static let clientIDLimit = 256

    /// Refuses what no client has for its id.
    static func require(clientID: String?) throws(RequestViolations) {
        guard (clientID?.utf8.count ?? 0) <= clientIDLimit else {
            throw RequestViolations(messages: ["/client_id: must NOT have more than \(clientIDLimit) bytes"])
        }
    }

    /// What lets web pages read an answer; also those that the server gives before there is a request.
    static let commonFields: HTTPFields = [
        "access-control-allow-origin": "*", "access-control-expose-headers": "Content-Type",
    ]

    /// Answers one request; every answer carries the fields that let web pages read it (service 1.1).
    func handle(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        let answer = await route(request, body)
        var fields = Self.commonFields
        for (name, value) in answer.fields { fields.append(name, value) }
        return HTTPResponse(status: answer.status, fields: fields, body: answer.body)
    }

    private func route(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        if request.method == "OPTIONS" {
            return HTTPResponse(
                status: 204,
                fields: [
                    "access-control-allow-methods": "GET,HEAD,POST",
                    "access-control-allow-headers": "Content-Type, Authorization, User-Agent, X-User-Agent",
                    "access-control-max-age": "3600", "content-length": "0",
                ])
        }
        let method = request.method == "HEAD" ? "GET" : request.method
        switch (method, request.path) {
        case ("POST", "/sync/stream"):
            return await authorized(request, body) { parameters, token in
                try await current().streams.open(request, parameters, token)
            }
        case ("GET", "/write-checkpoint2.json"):
            return await authorized(request, body) { parameters, token in
                let id = try await take(parameters, token, requested: nil)
                return JSONResponse.data(.object([JSONMember("write_checkpoint", .string(String(id)))]))
            }
        case ("POST", "/sync/checkpoint-request"):
            return await authorized(
                request, body, keeping: ["client_id", "checkpoint_request_id"],
                validate: { parameters throws(RequestViolations) in
                    _ = try WriteCheckpoints.requestedID(parameters["checkpoint_request_id"])
                }
            ) { parameters, token in
                let wanted = try WriteCheckpoints.requestedID(parameters["checkpoint_request_id"])
                let id = try await take(parameters, token, requested: wanted)
                return JSONResponse.data(.object([JSONMember("checkpoint_request_id", .string(String(id)))]))
            }
        case ("POST", let path) where AdminRoutes.Query.paths.contains(path):
            return await answered(request) {
                let parameters = try await RequestParameters.read(request, body)
                let query = try AdminRoutes.Query(path, parameters)
                try admin.tokens.check(Self.authorization(request))
                return try await admin.answer(query, from: current().admin)
            }
        case ("GET", let path):
            let answer = answersProbes ? probe(path) : nil
            return answer ?? ErrorResponse.notFound(request.method, path)
        default: return ErrorResponse.notFound(request.method, request.path)
        }
    }

    /// The answer of a probe (service 1.9); nil for other paths.
    func probe(_ path: String) -> HTTPResponse? {
        switch path {
        case "/probes/startup": probe(isGood: true)
        case "/probes/liveness": probe(isGood: health.isAlive)
        case "/probes/readiness": probe(isGood: isReady)
        default: nil
        }
    }

    /// The state of now.
    ///
    /// - Throws: `StreamHandler.Refusal` while there is none.
    private func current() throws -> State {
        guard let state = state() else { throw StreamHandler.Refusal(response: Self.unavailable) }
        return state
    }

    private static let unavailable = ErrorResponse.service(
        503, "PSYNC_S2003", "Service temporarily unavailable")

    private typealias Handler = (JSON, VerifiedToken) async throws -> HTTPResponse

    /// Validates, then authorizes, then answers: the order of the real service.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: Its body.
    ///   - names: The parameters that the handler needs, if it may wait for long; all if nil.
    ///   - validate: Refuses what is wrong.
    ///   - handler: Answers.
    /// - Returns: The answer.
    private func authorized(
        _ request: HTTPRequest, _ body: any HTTPRequestBody, keeping names: Set<String>? = nil,
        validate: (JSON) throws(RequestViolations) -> Void = { _ throws(RequestViolations) in },
        _ handler: Handler
    ) async -> HTTPResponse {
        await answered(request) {
            let parameters = try await RequestParameters.read(request, body, keeping: names)
            try validate(parameters)
            if request.path == "/sync/stream" { _ = try SyncStreamRequest(json: parameters) }
            let token = try await authenticator.authenticate(Self.authorization(request))
            return try await handler(parameters, token)
        }
    }

    /// Answers a request, and whatever is wrong with it.
    private func answered(
        _ request: HTTPRequest, _ answer: () async throws -> HTTPResponse
    ) async -> HTTPResponse {
        do {
            return try await answer()
        } catch let refusal as RequestParameters.Refusal {
            return refusal.response
        } catch let violations as RequestViolations {
            return ErrorResponse.invalid(violations.messages)
        } catch let error as AuthorizationError {
            log.debug("a request was not let in", ["auth.code": error.code])
            return ErrorResponse.unauthorized(error)
        } catch let refusal as StreamHandler.Refusal {
            return refusal.response
        } catch is TaskPlaces.Full {
            return HTTPResponse(status: 429)
        } catch let error as TooManyClients {
            if refusals.withLock({ $0.isNew("clients", at: .now) }) {
                log.warning(
                    "a user has so many clients that a new one gets no write checkpoint",
                    ["limit": "\(error.limit)"])
            }
            return ErrorResponse.service(
                429, "PSYNC_S2001", "Too many clients of this user (limit of \(error.limit))")
        } catch is CancellationError {
            return Self.unavailable
        } catch {
            log.error("a request failed", ["http.path": request.path, "error": "\(error)"])
            return ErrorResponse.unexpected()
        }
    }

    /// The only Authorization field; nil if there is none, and if there are several.
    ///
    /// A proxy may have looked at another one of them than we would. Such a request is answered like one without
    /// a token, which every client understands: it asks for new credentials.
    private static func authorization(_ request: HTTPRequest) -> String? {
        let values = request.fields.values("authorization")
        return values.count == 1 ? values[0] : nil
    }

    private func take(_ parameters: JSON, _ token: VerifiedToken, requested: Int64?) async throws -> Int64 {
        guard publisher.current != nil else {
            throw StreamHandler.Refusal(
                response: ErrorResponse.service(
                    500, "PSYNC_S2302", "Cannot create Write Checkpoint since no sync config is active."))
        }
        let writeCheckpoints = try current().writeCheckpoints
        let clientID = parameters["client_id"]?.stringValue
        try Self.require(clientID: clientID)
        let key = WriteCheckpointKey.text(userID: token.userID, clientID: clientID)
        return try await checkpointPlaces.run {
            try await writeCheckpoints.take(key: key, requested: requested)
        }
    }

    /// Whether there is a checkpoint, and the source is heard.
    ///
    /// Streams are served all the same: clients keep what they have.
    private var isReady: Bool { publisher.current != nil && health.isConnected }

    /// The state of the process (service 1.9); not wrapped in `data`.
    private func probe(isGood: Bool) -> HTTPResponse {
        JSONResponse.make(
            isGood ? 200 : 400,
            .object([
                JSONMember("ready", .bool(isReady)), JSONMember("started", .bool(true)),
                JSONMember(
                    "touched_at", .string(TimestampText.iso(clock.now() - health.sinceStep / .seconds(1)))),
            ]))
    }
}
