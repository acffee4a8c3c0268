import PowerSyncHTTPClient
import PowerSyncSystem

@testable import PowerSync

/// A backend behind the seam of the connector that answers about attachments as a test says, and no storage at all.
final class ScriptedURLs: Sendable {
    typealias Script =
        @Sendable (_ method: String, _ path: String, _ body: [UInt8]) async throws ->
        HTTPClientResponse

    private let requests = Lock<[HTTPClientRequest]>([])
    private let opened = Lock<[HTTPClientRequest]>([])
    private let base: String
    private let clock: SteppedClock
    private let script: Script

    /// Makes a backend.
    ///
    /// - Parameters:
    ///   - base: its base address.
    ///   - clock: the clock of its clients.
    ///   - script: its answers.
    init(
        _ base: String = "http://backend.test", clock: SteppedClock = SteppedClock(), script: @escaping Script
    ) {
        self.base = base
        self.clock = clock
        self.script = script
    }

    /// What it was asked.
    var asked: [HTTPClientRequest] { requests.withLock { $0 } }
    /// What the storage would have been asked.
    var sent: [HTTPClientRequest] { opened.withLock { $0 } }

    /// A connector to it, whose session says `session`.
    var connector: BackendConnector {
        let base = base
        return BackendConnector(
            url: base, access: .session { "session" }, environment: clock.environment,
            send: { request in
                try Task.checkCancellation()
                self.requests.withLock { $0.append(request) }
                let path = String(request.url.dropFirst(base.count))
                return try await self.script(request.method, path, request.body ?? [])
            })
    }

    /// A client of it.
    var client: SignedURLStorage {
        SignedURLStorage(
            connector: connector,
            through: { request in
                self.opened.withLock { $0.append(request) }
                throw HTTPClientError(.couldNotConnect, "there is no storage")
            })
    }
}
