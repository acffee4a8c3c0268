import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Answers requests: finds the route and who asks, lets the route work, turns errors into answers, writes one line to the log.
package struct BackendRoutes: Sendable {
    /// Whether the backend takes work.
    package enum Phase: Sendable {
        /// It does.
        case running
        /// It does, but asks balancers to go elsewhere.
        case leaving
        /// It only ends what it has.
        case draining
    }

    /// An answer with what the log should say about it.
    struct Answer: Sendable {
        var response: HTTPResponse
        var metadata: [LogKey: String] = [:]

        init(_ response: HTTPResponse, _ metadata: [LogKey: String] = [:]) {
            self.response = response
            self.metadata = metadata
        }

        init(_ json: JSON, _ metadata: [LogKey: String] = [:]) { self.init(json: json.utf8, metadata) }

        init(json bytes: [UInt8], _ metadata: [LogKey: String] = [:]) {
            response = HTTPResponse(
                status: 200, fields: ["content-type": "application/json; charset=utf-8"],
                body: .bytes(bytes))
            self.metadata = metadata
        }
    }

    /// The most bytes of a body that is no upload: what every connection may hold.
    static let smallBody = 16 << 10

    let configuration: BackendConfiguration
    let applier: UploadApplier
    let mint: TokenMint
    let authentication: Authentication
    /// How many tokens each user has got.
    let tokens: RateLimit<ExactText>
    let readiness: Readiness
    let phase: Lock<Phase>
    let admission: UploadAdmission
    /// Small questions to the database: two of a user at once, so that many of one need no more connections than that.
    let turns: UserTurns
    /// Nil where nobody keeps attachments.
    let attachments: AttachmentService?
    /// Nil where the store of attachments is served by others.
    private let blobs: BlobRoutes?
    private let options: Route.Options
    var quota: DeadLetterQuota { applier.tools.quota }
    private let cors: CORSPolicy
    /// Nil where a request counts for nothing without a token that this backend gives to nobody.
    private let hosts: HostPolicy?

    /// Makes the routes of their parts.
    package init(
        configuration: BackendConfiguration, applier: UploadApplier, mint: TokenMint,
        authentication: Authentication, readiness: Readiness, phase: Lock<Phase>,
        attachments: AttachmentService? = nil, blobs: BlobRoutes? = nil
    ) {
        self.attachments = attachments
        self.blobs = blobs
        var options = Route.Options()
        options.hasCheckpoints = configuration.hasCustomCheckpoints
        options.hasAttachments = attachments != nil
        options.hasBlobs = blobs != nil
        options.hasRejections = true
        self.options = options
        self.configuration = configuration
        self.applier = applier
        self.mint = mint
        self.authentication = authentication
        tokens = RateLimit(perMinute: configuration.rateLimits.tokensPerMinute)
        self.readiness = readiness
        self.phase = phase
        let tools = applier.tools
        admission = UploadAdmission(configuration, poller: tools.poller)
        turns = UserTurns(limit: 2, poller: tools.poller)
        // Who hands tokens to everybody keeps no page of this machine from asking for one.
        cors = CORSPolicy(
            origins: configuration.corsOrigins,
            allowsLoopback: configuration.hasDevelopmentTokens && configuration.corsOrigins.isEmpty,
            allowsCredentials: configuration.authentication.session?.cookie != nil)
        hosts =
            configuration.hasDevelopmentTokens || configuration.hasOpenUploads
            ? HostPolicy(
                names: configuration.developmentHosts,
                urls: [configuration.powersyncURL] + configuration.corsOrigins
                    + (configuration.attachments?.publicURL.map { [$0] } ?? [])) : nil
    }

    private var log: Log { applier.tools.log }
    var environment: BackendEnvironment { applier.tools.environment }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - body: its body, read only by those who need it.
    /// - Returns: the answer.
    package func answer(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        let start = ContinuousClock.now
        let sentID = request.fields["x-request-id"].flatMap(BackendRoutes.acceptable)
        // An upload may have another name for itself, which it finds in its answer.
        var requestID = sentID ?? environment.uniqueName()
        var found: Route?
        var caller: Principal?
        var refusal: Problem?
        var answer: Answer
        do {
            let route = try Route.find(request, options)
            found = route
            try admit(request, to: route)
            switch route.access {
            case .everybody: answer = try await open(route, request)
            case .signature: answer = try await blob(request, body)
            case .principal(let use):
                // The one place that finds out who asks, so that no route can forget it.
                let principal = try await authentication.principal(of: request, for: use)
                caller = principal
                answer = try await perform(route, of: principal, request, body, &requestID)
            }
        } catch {
            let problem = problem(for: error, requestID)
            refusal = problem
            answer = Answer(problem.response(requestID: requestID), ["problem": problem.code])
        }
        answer.response.fields["x-request-id"] = sentID ?? requestID
        answer.response.fields["x-content-type-options"] = "nosniff"
        cors.apply(to: &answer.response, for: request)
        var metadata = caller.map { logged($0) } ?? [:]
        metadata.merge(answer.metadata) { $1 }
        metadata["request.id"] = requestID
        if let sentID, sentID != requestID { metadata["request.header_id"] = sentID }
        metadata["http.method"] = request.method
        metadata["http.route"] = found?.name ?? Self.noRoute
        metadata["http.status"] = String(answer.response.status)
        let time = ContinuousClock.now - start
        metadata["http.milliseconds"] = String(time.milliseconds)
        note(request.method, found, answer.response.status, refusal, time)
        log.info("request", metadata)
        return answer.response
    }

    /// What an error is answered with; a mistake of ours is told in the log.
    func problem(for error: any Error, _ requestID: String) -> Problem {
        let problem = ErrorResponse.problem(
            for: error, bodyLimit: configuration.bodyLimit, retryAfter: 1 + Int(environment.random() * 4))
        if problem.status == 500 {
            log.error("request failed", ["request.id": requestID, "error": "\(type(of: error))"])
        }
        return problem
    }

    /// Refuses whoever comes by a name that is none of ours, or while the backend only ends what it has.
    private func admit(_ request: HTTPRequest, to route: Route) throws(Problem) {
        // What is for everybody gives nothing away, and balancers and services ask for it under names of their own.
        guard route.access != .everybody else { return }
        guard hosts?.allows(request.fields["host"]) ?? true else { throw .hostNotAllowed }
        guard phase.withLock({ $0 != .draining }) else {
            throw .unavailable("draining", "The backend is stopping", retryAfter: 1)
        }
    }

    /// Answers what is for everybody.
    private func open(_ route: Route, _ request: HTTPRequest) async throws -> Answer {
        switch route {
        case .greeting: return Answer(.object([JSONMember("message", .string("powersync-backend"))]))
        case .liveness, .startup: return Answer(.object([JSONMember("status", .string("ok"))]))
        case .readiness: return try await ready()
        case .capabilities: return Answer(capabilities)
        case .keys: return keys(request)
        case .preflight: return Answer(HTTPResponse(status: 200, fields: ["content-length": "0"]))
        // Its access says that it is not for everybody.
        default: throw Problem.internal
        }
    }

    /// Answers a request with a signed URL.
    private func blob(_ request: HTTPRequest, _ body: any HTTPRequestBody) async throws -> Answer {
        guard let blobs else { throw Problem.noSuchRoute }
        return Answer(await blobs.answer(request, body))
    }

    /// Does what somebody asks for who has signed in.
    private func perform(
        _ route: Route, of principal: Principal, _ request: HTTPRequest, _ body: any HTTPRequestBody,
        _ requestID: inout String
    ) async throws -> Answer {
        switch route {
        case .token: return try await token(of: principal, request, body)
        case .upload, .operation: return try await upload(route, of: principal, request, body, &requestID)
        case .checkpoint, .checkpointRequest: return try await checkpoint(route, of: principal, request, body)
        case .rejections: return try await rejections(of: principal, request)
        case .acknowledgement(let id): return try await acknowledge(id, by: principal)
        case .attachment(let asked):
            return try await attachment(asked, of: principal, request, body, requestID)
        // Its access says that nobody signs in for it.
        default: throw Problem.internal
        }
    }

    /// What the line of a request says of whom it is from: by what that was proved, and no name, but what finds the same user
    /// again.
    ///
    /// - Parameter principal: who it is.
    /// - Returns: the kind, a digest, and the id of the token, where it has one.
    private func logged(_ principal: Principal) -> [LogKey: String] {
        var values: [LogKey: String] = [
            "auth.kind": principal.kind.rawValue,
            "user.digest": DeadLetterQuota.digest(of: principal.subject),
        ]
        if let id = principal.claims["jti"]?.stringValue, id.utf8.count <= 255 { values["token.id"] = id }
        return values
    }

    private func ready() async throws -> Answer {
        guard phase.withLock({ $0 == .running }) else {
            throw Problem.unavailable("draining", "The backend is stopping", retryAfter: 1)
        }
        let (slug, title) = ("database-unavailable", "Database unavailable")
        switch await readiness.answer() {
        case .ready: return Answer(.object([JSONMember("status", .string("ready"))]))
        case .unfit:
            throw Problem.unavailable(slug, title, code: "DATABASE_MISCONFIGURED", retryAfter: 1)
        case .away: throw Problem.unavailable(slug, title, retryAfter: 1)
        }
    }

    /// What clients and contract tests may count on (backend 1.4, 1.8).
    private var capabilities: JSON {
        let limits = configuration.limits
        var features = ["ledger", "dead_letters", "rejections"]
        if configuration.hasCustomCheckpoints { features.append("custom_checkpoints") }
        if attachments != nil { features.append("attachments") }
        var members = [
            JSONMember("dialects", .array([.string("batch"), .string("transactions"), .string("v1")])),
            JSONMember(
                "limits",
                .object([
                    JSONMember("body_bytes", .integer(configuration.bodyLimit)),
                    JSONMember("transactions_per_request", .integer(limits.transactions)),
                    JSONMember("operations_per_transaction", .integer(limits.operations)),
                    JSONMember("operations_per_request", .integer(limits.requestOperations)),
                    JSONMember("operations_per_request_hint", .integer(1_000)),
                    JSONMember("values_per_request", .integer(limits.values)),
                    JSONMember("body_seconds", .integer(configuration.bodyTimeout.components.seconds)),
                    JSONMember("body_bytes_per_second", .integer(configuration.bodyBytesPerSecond)),
                    JSONMember("uploads_per_user", .integer(configuration.uploadsPerUser)),
                    JSONMember("text_bytes", .integer(ValueConversion.textLimit)),
                    JSONMember("json_depth", .integer(ValueConversion.jsonDepth)),
                    JSONMember("id_bytes", .integer(255)),
                ])),
            JSONMember("features", .array(features.map { .string($0) })),
            JSONMember(
                "batch_on_fatal_error", .string(configuration.continuesAfterFatalError ? "skip" : "stop")),
            JSONMember(
                "legacy_batch_mode", .string(configuration.isolatesLegacyBatches ? "isolate" : "atomic")),
        ]
        if let attachmentCapabilities { members.append(JSONMember("attachments", attachmentCapabilities)) }
        return .object(members)
    }

    /// A name that a caller gave its request, if it is fit for a log and a header.
    static func acceptable(_ id: String) -> String? {
        let isFit =
            (1...64).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                let letter = byte | 0x20
                return (0x61...0x7A).contains(letter) || (0x30...0x39).contains(byte) || byte == 0x2D
                    || byte == 0x5F
                    || byte == 0x2E
            }
        return isFit ? id : nil
    }
}
