import PowerSyncSystem
import PowerSyncTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A proxy to Postgres that knows the messages of the server, and can lose the answer to a COMMIT.
///
/// As some poolers do, it can drop parameters with which clients open their sessions.
/// Encryption is declined, so that the messages can be read.
package final class PostgresRelay: Sendable {
    /// What becomes of a connection whose answer was swallowed.
    package enum Ending: Sendable {
        /// It ends at once.
        case cut
        /// It stays open, and the server is not heard on it any more.
        case silent
    }

    private struct State {
        var links: [ObjectIdentifier: RelayedConnection] = [:]
        var commitsToPass = 0
        var commitsToSwallow = 0
        var ending = Ending.cut
        var swallowed = 0
        var gate: BlockingGate?
        var holdsOnceSwallowed = false

        mutating func swallow() -> Ending? {
            guard commitsToSwallow > 0 else { return nil }
            guard commitsToPass == 0 else {
                commitsToPass -= 1
                return nil
            }
            commitsToSwallow -= 1
            swallowed += 1
            if holdsOnceSwallowed { gate = gate ?? BlockingGate() }
            return ending
        }
    }

    /// The port of 127.0.0.1 that it listens on.
    package let port: Int
    private let listener: Int32
    private let state = Lock(State())

    /// Listens on a free port.
    ///
    /// - Parameters:
    ///   - target: The port of the server.
    ///   - dropped: The parameters of a session that the server does not hear of, such as `options`.
    ///   - losesCancellations: Whether the server hears of no request to stop a statement.
    /// - Throws: `SystemError`.
    package init(
        to target: Int, dropping dropped: Set<String> = [], losesCancellations: Bool = false
    ) throws {
        (listener, port) = try TCPSocket.listen()
        try DetachedThread.start { [listener, state] in
            while RelayedConnection.wait(listener, POLLIN), let client = try? TCPSocket.accept(listener) {
                // Whoever cannot be served sees the end of its connection, as of a server that is away.
                guard let server = try? TCPSocket.connect(port: target) else {
                    close(client)
                    continue
                }
                let link = RelayedConnection(client: client, server: server)
                state.withLock { $0.links[ObjectIdentifier(link)] = link }
                do {
                    try DetachedThread.start { Self.serve(link, state, dropped, losesCancellations) }
                } catch {
                    state.withLock { $0.links[ObjectIdentifier(link)] = nil }
                }
            }
            close(listener)
        }
    }

    deinit {
        letAnswersPass()
        for link in state.withLock({ Array($0.links.values) }) { link.cut() }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// Loses the next answers that say `COMMIT`, and nothing before them.
    ///
    /// - Parameters:
    ///   - count: How many; 0 for none any more.
    ///   - ending: What then becomes of the connection.
    ///   - passing: How many such answers pass before.
    ///   - isHolding: Whether from the first of them on all answers of the server are kept back.
    package func swallowCommits(
        _ count: Int, then ending: Ending, after passing: Int = 0, isHolding: Bool = false
    ) {
        state.withLock {
            $0.holdsOnceSwallowed = isHolding
            $0.commitsToPass = passing
            $0.commitsToSwallow = count
            $0.ending = ending
        }
    }

    /// How many answers were lost so far.
    package var swallowed: Int { state.withLock { $0.swallowed } }

    /// Keeps all answers of the server back, while what is sent to it passes.
    package func holdAnswers() {
        state.withLock { $0.gate = $0.gate ?? BlockingGate() }
    }

    /// Lets the answers pass, those that were kept back first.
    package func letAnswersPass() {
        let gate = state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }
        gate?.open()
    }

    // MARK: One connection

    private static func serve(
        _ link: RelayedConnection, _ state: Lock<State>, _ dropped: Set<String>, _ losesCancellations: Bool
    ) {
        defer {
            state.withLock { $0.links[ObjectIdentifier(link)] = nil }
            link.cut()
        }
        guard let opening = link.opening() else { return }
        // CancelRequest: version 1234.5678.
        if losesCancellations, opening[4..<8].elementsEqual([0x04, 0xD2, 0x16, 0x2E]) { return }
        guard link.send(without(dropped, opening), to: link.server) else { return }
        do {
            try DetachedThread.start { answer(link, state) }
        } catch {
            return
        }
        while let bytes = link.receive(from: link.client), link.send(bytes, to: link.server) {}
    }

    /// The message that opens a session, without parameters: its length, a version, and names with values.
    private static func without(_ dropped: Set<String>, _ opening: [UInt8]) -> [UInt8] {
        guard !dropped.isEmpty, opening[4..<8].elementsEqual([0, 3, 0, 0]) else { return opening }
        let texts = opening[8...].split(separator: 0, omittingEmptySubsequences: false)
        var kept: [UInt8] = []
        for index in stride(from: 0, to: texts.count - 1, by: 2) where !texts[index].isEmpty {
            guard !dropped.contains(String(decoding: texts[index], as: UTF8.self)) else { continue }
            kept += texts[index] + [0] + texts[index + 1] + [0]
        }
        let length = UInt32(9 + kept.count)
        return withUnsafeBytes(of: length.bigEndian) { Array($0) } + [0, 3, 0, 0] + kept + [0]
    }

    /// Passes on what the server says, message by message.
    private static func answer(_ link: RelayedConnection, _ state: Lock<State>) {
        var pending: [UInt8] = []
        while let bytes = link.receive(from: link.server) {
            pending += bytes
            var passing: [UInt8] = []
            var ending: Ending?
            while ending == nil, let message = firstMessage(of: pending) {
                ending = isCommit(message) ? state.withLock { $0.swallow() } : nil
                if ending == nil { passing += message }
                pending.removeFirst(message.count)
            }
            state.withLock { $0.gate }?.wait()
            guard link.send(passing, to: link.client) else { break }
            switch ending {
            case .cut?: return link.cut()
            case .silent?:
                while link.receive(from: link.server) != nil {}
                // The client is not told that the server has ended the connection either.
                return
            case nil: continue
            }
        }
        link.cut()
    }

    /// A message of the server: a letter, four bytes of a length that counts itself, and the rest.
    private static func firstMessage(of bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard bytes.count >= 5 else { return nil }
        let length = bytes[1..<5].reduce(0) { $0 << 8 | Int($1) }
        return bytes.count > length ? bytes[...length] : nil
    }

    /// Whether a message is CommandComplete with the tag COMMIT.
    private static func isCommit(_ message: ArraySlice<UInt8>) -> Bool {
        message.first == UInt8(ascii: "C") && message.dropFirst(5).elementsEqual("COMMIT\0".utf8)
    }
}
