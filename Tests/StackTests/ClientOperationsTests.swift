import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncStack

@Suite(.patient())
struct ClientOperationsTests {
    /// Whoever has stopped syncing finds that nobody takes this client for up to date, without waiting for anything.
    @Test func nobodyIsUpToDateOnceSyncingHasStopped() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let peer = try ScriptedPeer()
        let options = ClientOptions(
            database: folder.path + "/c.db",
            schema: Schema(Table(name: "items", columns: [.text("name")])), endpoint: peer.url,
            login: .user("u", backend: peer.url))
        let applied = Lock<[Date]>([])
        let result: Void? = try await Session.run(
            until: AsyncStream { _ in }, closingWithin: TestOptions.deadline,
            thenWithin: TestOptions.deadline
        ) { session in
            let operations = try await ClientOperations.open(
                options, logger: DefaultLogger(minSeverity: .error), session: session,
                onCheckpoint: { time in applied.withLock { $0.append(time) } })
            for number in 1...20 {
                try await operations.connect(retry: 0.02, throttle: 0.001)
                try await peer.stream(number).say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
                try await operations.wait(for: .upToDate, timeout: nil)
                try await operations.disconnect()
                #expect(!operations.checkpoints.isCurrent)
                #expect(applied.withLock { $0.count } == number)
            }
        }
        #expect(result != nil)
        folder.remove()
    }
}
