import PowerSyncHTTP
import PowerSyncSystem

/// One client's connection: reads requests, has them answered, writes the answers, in this order.
///
/// Its task alone closes the descriptor. A second task waits for the client to hang up and cancels the first: a
/// stream, which may have no end, at once, all else when `hangUpTimeout` has passed, because a client that merely says
/// that it will send no more, and waits for its answer, looks the same as one that has left. What a cancelled handler
/// answers is still sent as far as the system takes it at once.
final class Connection: Sendable {
    /// A body that nobody reads is read and dropped up to this length, else the connection is closed.
    static let drainLimit = 64 << 10

    private struct State {
        var isStreaming = false
        var isCut = false
    }

    let server: ServerState
    let parser: Lock<HTTPRequestParser>
    let socket: Socket
    private let state = Lock(State())
    private let rest = Rest()
    private let peer: IPAddress?

    var channel: Channel { socket.channel }
    var configuration: HTTPServerConfiguration { server.configuration }

    init(_ channel: Channel, _ peer: IPAddress?, _ server: ServerState) {
        self.server = server
        self.peer = peer
        socket = Socket(
            channel: channel, writeTimeout: server.configuration.writeTimeout,
            writeMinimum: server.configuration.writeMinimum,
            writeBytesPerSecond: server.configuration.writeBytesPerSecond)
        parser = Lock(HTTPRequestParser(limits: server.configuration.limits))
    }

    /// Serves the connection until either side ends it, and closes it.
    func run(_ handler: @escaping HTTPHandler) async {
        await whileConnected { await self.serve(handler) }
    }

    /// Tells the client that there is no room for it, and closes the connection.
    func refuse() async {
        await whileConnected {
            let response = self.ownAnswer(
                503, "the server has no room for another connection", ["retry-after": "1"])
            do {
                try await self.send(response, to: nil, keepsAlive: false)
                await self.linger()
            } catch {
                // The client has left, or does not read: it is rid of us either way.
            }
        }
    }

    /// Called when the server stops: ends a stream and lets an idle connection notice.
    func beginToStop() {
        if state.withLock({ $0.isStreaming }) { channel.giveUp() } else { channel.hint() }
    }

    /// Since when the connection has been waiting for a request; nil while it has one.
    var restingSince: ContinuousClock.Instant? { rest.since }

    /// Closes the connection if it still waits for a request; says whether it did.
    ///
    /// A request that is on its way is lost, as it is when the time to rest is over: its client sends it again on
    /// another connection (RFC 9112 9.3.1).
    func makeRoom() -> Bool {
        guard rest.finish(if: { !socket.hasUnreadBytes }) else { return false }
        channel.hint()
        return true
    }

    /// Cancels whatever goes on.
    func cut() {
        state.withLock { $0.isCut = true }
        channel.giveUp()
    }

    private func whileConnected(_ work: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Ends with an error when the work is done first and cancels this wait.
                guard (try? await self.channel.hangUp()) != nil else { return }
                // Asked for now for the sake of a task that is writing, whose cancellation says nothing of the reason.
                guard self.socket.reasonOfEnd() == 0, !self.state.withLock({ $0.isStreaming || $0.isCut })
                else { return }
                // A task that reads, as every one does that has answered, sees the end and cancels this wait.
                try? await self.server.poller.sleep(until: .now + self.configuration.hangUpTimeout)
            }
            group.addTask { await work() }
            await group.next()
            group.cancelAll()
        }
        // Nobody looks at the socket any more to see whether it rests.
        _ = rest.end()
        socket.close()
    }

    // MARK: Requests

    private func serve(_ handler: HTTPHandler) async {
        var isFirst = true
        do {
            while let head = try await nextHead(isFirst: isFirst) {
                isFirst = false
                guard try await answer(head, handler) else { break }
            }
        } catch let error as HTTPError {
            await explain(error)
        } catch {
            // The client has left, or takes no bytes, or the server stops: there is nobody to tell.
        }
    }

    /// Returns the next request; nil when the connection is to be closed without a word.
    private func nextHead(isFirst: Bool) async throws -> HTTPRequestHead? {
        var isResting = parser.withLock { $0.isIdle }
        let start = ContinuousClock.now
        var deadline =
            start + (isResting && !isFirst ? configuration.idleTimeout : configuration.headerTimeout)
        while true {
            if let head = try parser.withLock({ parser throws(HTTPError) in try parser.nextHead() }) {
                return head
            }
            if isResting, !parser.withLock({ $0.isIdle }) {
                isResting = false
                deadline = ContinuousClock.now + configuration.headerTimeout
            }
            let received: Socket.Received
            if isResting, server.isStopping {
                // A request that arrived before the stop is still answered.
                received = receive()
                if case .nothingNow = received { return nil }
            } else {
                if isResting { rest.begin(since: start) }
                let isReadable = try await channel.readable(until: deadline)
                if isResting, !rest.end() { return nil }
                guard isReadable else {
                    if isResting { return nil }
                    throw HTTPError(.headTimeout, "the head of the request did not arrive in time")
                }
                received = receive()
            }
            if case .end = received { return nil }
        }
    }

    /// Reads what has arrived.
    func receive(_ most: Int = 16 << 10) -> Socket.Received {
        socket.receive(most) { bytes in parser.withLock { $0.append(bytes) } }
    }

    private func explain(_ error: HTTPError) async {
        let response = ownAnswer(
            error.status, error.message, ["content-type": "text/plain; charset=utf-8"],
            .bytes(Array("\(error.message)\n".utf8)))
        do {
            try await send(response, to: nil, keepsAlive: false)
            await linger()
        } catch {
            // The client has left, or does not read.
        }
    }

    /// An answer that no handler has given: as the configuration writes it, else of these fields and this body.
    private func ownAnswer(
        _ status: Int, _ message: String, _ fields: HTTPFields = [:], _ body: HTTPResponseBody = .empty
    ) -> HTTPResponse {
        let written = configuration.ownAnswer?(status, message)
        var all = configuration.ownAnswerFields
        for (name, value) in written?.fields ?? fields { all.append(name, value) }
        return HTTPResponse(status: status, fields: all, body: written?.body ?? body)
    }

    // MARK: Answers

    /// Has a request answered and says whether another one may follow.
    private func answer(_ head: HTTPRequestHead, _ handler: HTTPHandler) async throws -> Bool {
        parser.withLock { $0.releaseMemory() }
        let body = head.framing == .none ? nil : RequestBody(self, head)
        var request = head.request
        request.peer = peer
        var response = await handler(request, body ?? NoBody())
        body?.release()
        var keepsAlive = head.keepsAlive && !server.isStopping && body?.canBeDrained != false
        if let write = response.body.write, HTTPResponseEncoder.sendsBody(response, to: head) {
            if HTTPResponseEncoder.framing(of: response, to: head) == .untilClose { keepsAlive = false }
            keepsAlive = try await stream(response, write, to: head, keepsAlive: keepsAlive)
        } else {
            try await send(response, to: head, keepsAlive: keepsAlive)
        }
        response.lease = nil
        if keepsAlive { keepsAlive = await body?.drain() ?? true }
        // A client that did not ask for the end may have sent more in the meantime.
        if !keepsAlive, head.keepsAlive || parser.withLock({ $0.isInBody || $0.pendingBytes > 0 }) {
            await linger()
        }
        return keepsAlive
    }

    private func send(_ response: HTTPResponse, to head: HTTPRequestHead?, keepsAlive: Bool) async throws {
        let framing = HTTPResponseEncoder.framing(of: response, to: head)
        let start = HTTPResponseEncoder.head(
            response, framing: framing, to: head, keepsAlive: keepsAlive, date: server.date())
        if case .bytes(let bytes) = response.body, HTTPResponseEncoder.sendsBody(response, to: head) {
            try await socket.send([start, bytes], isWhole: true)
        } else {
            try await socket.send([start])
        }
    }

    private func stream(
        _ response: HTTPResponse, _ write: @Sendable (any HTTPBodyWriter) async throws -> Void,
        to head: HTTPRequestHead, keepsAlive: Bool
    ) async throws -> Bool {
        let framing = HTTPResponseEncoder.framing(of: response, to: head)
        let start = HTTPResponseEncoder.head(
            response, framing: framing, to: head, keepsAlive: keepsAlive, date: server.date())
        let writer = ResponseWriter(socket, head: start, framing)
        defer { state.withLock { $0.isStreaming = false } }
        if case .stream = response.body {
            state.withLock { $0.isStreaming = true }
            // A stop that came before the line above could not see the stream.
            if server.isStopping { channel.giveUp() }
        }
        do {
            try await write(writer)
            try await writer.finish()
        } catch {
            if writer.abandon() || Task.isCancelled { throw error }
            try await send(ownAnswer(500, "the answer could not be written"), to: head, keepsAlive: false)
            return false
        }
        return keepsAlive
    }

    /// Reads and drops what the client still sends, so that the system does not throw away the answer that the
    /// client has not read yet: closing with unread bytes resets the connection (RFC 9112 9.6).
    private func linger() async {
        socket.finishSending()
        let end = ContinuousClock.now + configuration.lingerTimeout
        while ContinuousClock.now < end {
            let silence = ContinuousClock.now + configuration.lingerTimeout / 5
            // Cancelled: the client has left, or the server has no more time.
            guard let isReadable = try? await channel.readable(until: min(end, silence)), isReadable
            else { return }
            if case .end = socket.receive(64 << 10, { _ in }) { return }
        }
    }
}
