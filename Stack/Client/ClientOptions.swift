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

    /// Makes options of their parts.
    package init(database: String, schema: Schema, endpoint: String, login: Login) {
        self.database = database
        self.schema = schema
        self.endpoint = endpoint
        self.login = login
    }

    /// Reads a command line, and the file of the schema.
    ///
    /// - Parameter arguments: the command line.
    /// - Throws: `CommandError` for a line that makes no sense, `StackError` for the file.
    init(_ arguments: ParsedArguments) throws {
        let path = try Self.required("--db", "FILE", arguments)
        let schema = try Self.required("--schema", "FILE", arguments)
        let endpoint = try Self.required("--endpoint", "URL", arguments)
        let login = try Self.login(arguments)
        let parameters = try arguments.value("--params").map(Self.parameters)
        self.init(
            // The SDK looks for other paths in the folder of an app.
            database: path == ":memory:" ? path : TextFile.absolutePath(path),
            schema: try SchemaFile.read(schema), endpoint: endpoint, login: login)
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

    private static func login(_ arguments: ParsedArguments) throws(CommandError) -> Login {
        switch (arguments.value("--token"), arguments.value("--backend"), arguments.value("--user")) {
        case (let token?, nil, nil): return .token(token)
        case (nil, var backend?, let user?):
            while backend.hasSuffix("/") { backend.removeLast() }
            return .user(user, backend: backend)
        default: throw usage("give either --token TOKEN, or --backend URL and --user NAME")
        }
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
