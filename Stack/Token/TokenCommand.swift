import PowerSyncCommandLine
import PowerSyncHTTPClient
import PowerSyncWire

/// The sub-command `token`.
enum TokenCommand {
    static let command = Command(
        "token", abstract: "Print a token of a development backend, for curl.",
        discussion: """
              curl -N http://127.0.0.1:8080/sync/stream -H 'Content-Type: application/json' -d '{}' \\
                  -H "Authorization: Bearer $(powersync-stack token --user alice)"
            """,
        options: [
            Option("--backend", "URL", help: "The backend.", standard: "http://127.0.0.1:6060"),
            Option("--user", "NAME", help: "The subject of the token."),
        ]
    ) { arguments in
        guard let user = arguments.value("--user") else {
            throw CommandError("--user NAME is missing", exitStatus: CommandError.usageStatus)
        }
        var backend = arguments.value("--backend") ?? "http://127.0.0.1:6060"
        while backend.hasSuffix("/") { backend.removeLast() }
        let client = try HTTPClient()
        defer { client.close() }
        StandardOutput.print(try await TokenRequest.send(backend: backend, user: user, client: client).token)
        return 0
    }
}
