import PowerSyncHTTP
import PowerSyncSystem

/// The body of the request that is being answered.
extension Connection {
    /// Waits for room for more of a body.
    func takeRoom(_ count: Int, for body: UInt64, until deadline: ContinuousClock.Instant)
        async throws(HTTPError)
    {
        // It may wait for long: what it has read stands in the body.
        parser.withLock { $0.releaseMemory() }
        do {
            try await server.bodyRoom.take(count, for: body, until: deadline)
        } catch is WaitingRefusal {
            throw HTTPError(.overloaded, "too many bodies are being read")
        } catch {
            throw HTTPError(.cut, "the client has left or the server stops")
        }
    }

    func takeBody(into bytes: inout [UInt8], limit: Int) throws(HTTPError) -> Bool {
        try parser.withLock { parser throws(HTTPError) in try parser.takeBody(into: &bytes, limit: limit) }
    }

    func sendContinue() async throws(HTTPError) {
        do {
            try await socket.send([HTTPResponseEncoder.continueHead])
        } catch {
            throw HTTPError(.cut, "the client has left")
        }
    }

    /// Waits for more of a body and reads it.
    ///
    /// - Parameters:
    ///   - most: How many bytes to read.
    ///   - deadline: When the first of them is too late.
    /// - Throws: `.cut` where the client has left or the server stops, `.bodyTimeout`.
    func readBody(_ most: Int, until deadline: ContinuousClock.Instant) async throws(HTTPError) {
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
            switch receive(most) {
            case .bytes: return
            case .nothingNow: continue
            case .end: throw HTTPError(.cut, "the client left before the end of the body")
            }
        }
    }
}
