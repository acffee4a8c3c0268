import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

/// A backend that is measured, in a process of its own, with the settings that it has by itself.
final class MeasuredBackend: Sendable {
    /// How long it may take to be ready.
    private static let patience = Duration.seconds(120)

    /// Where it listens on 127.0.0.1.
    let port: Int
    private let process: MeasuredProcess

    /// Starts a backend; `ready` waits until it takes uploads.
    ///
    /// - Parameters:
    ///   - program: the path of `powersync-backend`.
    ///   - uri: its database.
    ///   - folder: has its table map `tables.yaml`; gets its log, and goes with it.
    ///   - port: where it shall listen.
    ///   - poller: the poller of the program.
    /// - Throws: `SystemError`, `StackError`.
    init(_ program: String, database uri: String, in folder: String, port: Int, poller: Poller) async throws {
        self.port = port
        // Tokens for anybody are of development; all that decides about speed is as it is in production.
        process = try await MeasuredProcess(
            "backend", [program, "start"],
            environment: [
                "ENV": "development", "DATABASE_URI": uri, "HOST": "127.0.0.1", "PORT": String(port),
                "POWERSYNC_URL": "http://127.0.0.1:8080", "JWT_AUDIENCE": "powersync", "DEV_TOKENS": "true",
                "DEV_EPHEMERAL_KEYS": "true", "PSB_TABLE_MAP": folder + "/tables.yaml",
            ], in: folder, poller: poller)
    }

    private var url: String { "http://127.0.0.1:\(port)" }

    /// The processor time that it has taken so far, in seconds; nil elsewhere than on Linux.
    var processorTime: Double? { ProcessorTime.of(process.id) }

    /// Waits until it says that it is ready.
    ///
    /// - Throws: `StackError` with `.partEnded` if it ends, with `.deadline`.
    func ready() async throws {
        let client = try HTTPClient()
        defer { client.close() }
        try await Deadline.wait(Self.patience, for: "the backend to be ready") { () async throws -> Bool? in
            try process.requireLife()
            do {
                return try await client.send(HTTPClientRequest(url: url + "/readyz")).status == 200
                    ? true : nil
            } catch is HTTPClientError {
                // Nobody listens yet; one that never does meets the deadline.
                return nil
            }
        }
    }

    /// Gets tokens.
    ///
    /// - Parameter users: the users.
    /// - Returns: a token for each.
    /// - Throws: `StackError`, `HTTPClientError`.
    func tokens(_ users: [String]) async throws -> [String] {
        let client = try HTTPClient()
        defer { client.close() }
        var tokens: [String] = []
        for user in users {
            tokens.append(try await TokenRequest.send(backend: url, user: user, client: client).token)
        }
        return tokens
    }

    /// Stops it in order, and returns when it has ended and its folder is gone; again, it just waits.
    func end() async { await process.end() }
}
