import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport

/// A way to the service that holds back each request for a stream until the test lets it through.
struct HeldTransport: SyncTransport {
    let transport: ScriptedTransport
    let gate: Gate

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        await gate.pass()
        return try await transport.open(request)
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        try await transport.send(request)
    }
}

/// A way to a service that is out of reach until the test says otherwise.
struct UnreachableTransport: SyncTransport {
    let transport: ScriptedTransport
    let isReachable: Lock<Bool>

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        try reach()
        return try await transport.open(request)
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        try reach()
        return try await transport.send(request)
    }

    private func reach() throws {
        if !isReachable.withLock({ $0 }) { throw ScriptError("connection refused") }
    }
}
