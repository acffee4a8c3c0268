import PowerSync
import PowerSyncCommandLine
import PowerSyncWire

/// What the tool is started with.
package struct ClientOptions: Sendable {
    /// Who the client is to the service.
    package enum Login: Sendable {
        /// Whoever a token names; nothing can be uploaded.
        case token(String)
        /// A user of a development backend, which mints the tokens and takes the uploads.
        case user(String, backend: String)
    }

    /// The path of the database, or `:memory:`.
    package var database: String
    /// The tables.
    package var schema: Schema
    /// The service's URL.
    package var endpoint: String
    /// Who the client is.
    package var login: Login
    /// Client parameters, sent with each stream request.
    package var parameters: JsonParam = [:]
    /// Whether write checkpoints are asked for as checkpoint requests.
    package var usesCheckpointRequests = false
    /// Proxy and certificates of all requests; nil for those of the system.
    package var transport: TransportOptions?
    /// The files that belong to rows; nil for none.
    package var attachments: AttachmentOptions?

    /// The variable with a token, where no option names a user.
    static let tokenVariable = "POWERSYNC_TOKEN"

    /// Makes options of their parts.
    package init(database: String, schema: Schema, endpoint: String, login: Login) {
        self.database = database
        self.schema = schema
        self.endpoint = endpoint
        self.login = login
    }

    /// Reads a command line, and the files of the schema and the token.
    ///
    /// - Parameters:
    ///   - arguments: the command line.
    ///   - environment: may have a token.
    /// - Throws: `CommandError` for a line that makes no sense, `StackError` for a file.
    init(_ arguments: ParsedArguments, environment: [String: String]) throws {
        let path = try Self.required("--db", "FILE", arguments)
        let schema = try Self.required("--schema", "FILE", arguments)
        let endpoint = try Self.required("--endpoint", "URL", arguments)
        let login = try Self.login(arguments, environment)
        let parameters = try arguments.value("--params").map(Self.parameters)
        let attachments = try Self.attachments(arguments, database: path, login)
        let tables = try SchemaFile.read(schema)
        self.init(
            // The SDK looks for other paths in the folder of an app.
            database: path == ":memory:" ? path : TextFile.absolutePath(path),
            schema: attachments == nil ? tables : try AttachmentOptions.completing(tables, from: schema),
            endpoint: endpoint, login: login)
        self.attachments = attachments
        self.parameters = parameters ?? [:]
        usesCheckpointRequests = arguments.flag("--checkpoint-requests")
        transport = try Self.transport(arguments)
    }

    private static func required(
        _ name: String, _ value: String, _ arguments: ParsedArguments
    ) throws(CommandError) -> String {
        guard let text = arguments.value(name), !text.isEmpty else {
            throw usage("\(name) \(value) is missing")
        }
        return text
    }

    private static func login(
        _ arguments: ParsedArguments, _ environment: [String: String]
    ) throws -> Login {
        let (backend, user) = (arguments.value("--backend"), arguments.value("--user"))
        switch (arguments.value("--token"), arguments.value("--token-file"), backend, user) {
        case (let token?, nil, nil, nil): return .token(token)
        case (nil, let file?, nil, nil): return .token(try token(in: file))
        case (nil, nil, var backend?, let user?):
            while backend.hasSuffix("/") { backend.removeLast() }
            return .user(user, backend: backend)
        case (nil, nil, nil, nil):
            if let token = environment[tokenVariable], !token.isEmpty { return .token(token) }
        default: break
        }
        throw usage(
            "give either --token TOKEN, or --backend URL and --user NAME; a token may also stand in "
                + "--token-file FILE or in \(tokenVariable)")
    }

    /// Reads a file that has a token and at most white space beside it.
    private static func token(in file: String) throws(StackError) -> String {
        let words = try TextFile.read(file).split(whereSeparator: \.isWhitespace)
        guard words.count == 1 else {
            throw StackError(.file, "\(file) has \(words.count) words, a token is one")
        }
        return String(words[0])
    }

    private static func parameters(_ text: String) throws(CommandError) -> JsonParam {
        // Where it is wrong is seen at once: it stands in the command line.
        guard let members = try? JSON.parse(text).objectMembers else {
            throw usage("--params takes a JSON object")
        }
        return JsonParam(members)
    }

    private static func transport(_ arguments: ParsedArguments) throws(CommandError) -> TransportOptions? {
        let authorities = arguments.value("--ca-file").map(TransportOptions.PEM.file)
        let key = arguments.value("--client-key").map(TransportOptions.PEM.file)
        let certificate = arguments.value("--client-cert").map {
            TransportOptions.ClientCertificate(certificate: .file($0), key: key)
        }
        guard key == nil || certificate != nil else { throw usage("--client-key needs --client-cert FILE") }
        let proxy = arguments.value("--proxy")
        if proxy == nil, authorities == nil, certificate == nil { return nil }
        return TransportOptions(
            proxy: proxy, certificateAuthorities: authorities, clientCertificate: certificate)
    }

    private static func attachments(
        _ arguments: ParsedArguments, database: String, _ login: Login
    ) throws(CommandError) -> AttachmentOptions? {
        let cacheLimit = try arguments.number("--attachment-cache", in: 0...1_000_000)
        guard let query = arguments.value("--attachments") else {
            if cacheLimit != nil { throw usage("--attachment-cache needs --attachments SQL") }
            return nil
        }
        guard database != ":memory:" else {
            throw usage("--attachments needs a --db FILE, beside which the files lie")
        }
        guard case .user = login else {
            throw usage(
                "--attachments needs --backend URL and --user NAME: the backend signs the addresses of files")
        }
        return AttachmentOptions(query, cacheLimit: cacheLimit.map { Int64($0) })
    }

    private static func usage(_ message: String) -> CommandError {
        CommandError(message, exitStatus: CommandError.usageStatus)
    }

    // MARK: Connecting

    /// What every connection begins with; the command `connect` says more.
    var connectOptions: ConnectOptions {
        ConnectOptions(
            params: parameters, clientConfiguration: transport.map { SyncClientConfiguration(transport: $0) },
            checkpointMode: usesCheckpointRequests ? .requests() : .legacy)
    }
}
