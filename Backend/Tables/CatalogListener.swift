import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Hears of changed tables by NOTIFY, over a connection of its own (backend 8.5).
///
/// Nothing depends on it: a database without the event trigger says nothing, a pooler may refuse LISTEN or lose what is said,
/// and the poll sees every change all the same.
package struct CatalogListener: Sendable {
    /// How long it waits before it connects again, at first and at last, which is also how long a connection must last for
    /// the next pause to be the first again.
    private static let pauses = (first: Duration.milliseconds(100), last: Duration.seconds(60))
    /// How long a statement may take.
    private static let patience = Duration.seconds(10)
    /// A connection that has been silent for so long is asked whether it is still one.
    private static let silence = Duration.seconds(30)

    private let uri: String
    private let parameters: [String: String]
    private let poller: Poller
    private let log: Log
    private let random: @Sendable () -> Double

    /// Makes a listener that has connected to nothing yet.
    package init(
        uri: String, parameters: [String: String], poller: Poller, log: Log,
        random: @escaping @Sendable () -> Double
    ) {
        self.uri = uri
        self.parameters = parameters
        self.poller = poller
        self.log = log
        self.random = random
    }

    /// Listens until its task is cancelled.
    ///
    /// - Parameter changed: called when tables may have changed: somebody said so, or nobody was heard for a while. What is
    ///   said meanwhile is one call more.
    package func run(_ changed: () async -> Void) async {
        var pause = Self.pauses.first
        while !Task.isCancelled {
            var listening: ContinuousClock.Instant?
            do {
                try await listen {
                    listening = listening ?? ContinuousClock.now
                    await changed()
                }
            } catch is CancellationError {
                return
            } catch {
                // Not as soon as LISTEN was taken: poolers and proxies take it, and end the connection soon after.
                if let listening, ContinuousClock.now - listening > Self.pauses.last {
                    pause = Self.pauses.first
                }
                if pause == Self.pauses.first {
                    log.warning(
                        "changed tables are not heard of, they are looked for instead", ["error": "\(error)"])
                }
            }
            // It only throws when the task is cancelled.
            guard (try? await poller.sleep(until: .now + pause * (0.5 + random() / 2))) != nil else { return }
            pause = min(pause * 2, Self.pauses.last)
        }
    }

    /// Listens until the connection ends, which is thrown.
    private func listen(_ changed: () async -> Void) async throws {
        let connection = try await PostgresConnection.connect(uri, parameters: parameters, poller: poller)
        do {
            try await connection.script(
                "LISTEN \(CatalogAnnouncement.channel)", until: .now + Self.patience)
            // What was said before is lost.
            await changed()
            while true {
                let told = try await connection.notifications(until: .now + Self.silence)
                if told.isEmpty {
                    try await connection.query("SELECT 1", until: .now + Self.patience)
                } else {
                    await changed()
                }
            }
        } catch {
            await connection.close()
            throw error
        }
    }
}
