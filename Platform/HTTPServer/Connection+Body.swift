import PowerSyncHTTP
import PowerSyncSystem

/// The body of the request that is being answered.
extension Connection {
    /// Counts bytes of a body that have arrived, of which `held` were counted before.
    func holdBodyBytes(_ count: Int, held: Int) throws(HTTPError) {
        guard server.holdBodyBytes(count, held: held) else {
            throw HTTPError(.overloaded, "too many bodies are being read")
        }
    }

    /// Gives counted bytes of a body back.
    func releaseBodyBytes(_ count: Int) { server.releaseBodyBytes(count) }

    func takeBody(into bytes: inout [UInt8], limit: Int) throws(HTTPError) -> Bool {
        try parser.withLock { parser throws(HTTPError) in try parser.takeBody(into: &bytes, limit: limit) }
    }

    func sendContinue() async throws(HTTPError) {
        do {
            try await socket.send(HTTPResponseEncoder.continueHead)
        } catch {
            throw HTTPError(.cut, "the client has left")
        }
    }

    /// Waits for more of a body and reads it.
    func readBody(start: ContinuousClock.Instant, received: Int) async throws(HTTPError) {
        let pace = Duration.seconds(Double(received) / Double(configuration.bodyBytesPerSecond))
        let deadline = start + configuration.bodyTimeout + pace
        while true {
            let isReadable: Bool
            do {
                isReadable = try await channel.readable(until: deadline)
            } catch {
                throw HTTPError(.cut, "the client has left or the server stops")
            }
            // Who is always readable sends faster than the pace asks for, and has the time.
            guard isReadable else {
                throw HTTPError(.bodyTimeout, "the body did not arrive in time")
            }
            switch receive(64 << 10) {
            case .bytes: return
            case .nothingNow: continue
            case .end: throw HTTPError(.cut, "the client left before the end of the body")
            }
        }
    }
}
