import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP proxy on 127.0.0.1 whose connections can be cut, held up or silenced, to take devices off the network.
package final class CuttableProxy: Sendable {
    private struct State {
        var isCut = false
        var open: Set<Int32> = []
        /// How many bytes may still go to the device; nil for any number.
        var allowance: Int?
        /// How often the connections that there were have been silenced.
        var silences = 0
    }

    /// Where it listens, as a URL.
    package var url: String { "http://127.0.0.1:\(port)" }
    private let port: Int
    private let listener: Int32
    private let target: (address: String, port: Int)
    private let poller: Poller
    private let state = Lock(State())

    /// Listens on a free port.
    ///
    /// - Parameters:
    ///   - url: `http://` and a numeric IPv4 address with a port, to which connections go.
    ///   - poller: the poller of the program.
    /// - Throws: `StackError` if the URL is another one, `SystemError` if nothing can listen.
    package init(to url: String, poller: Poller) throws {
        let parts = url.dropFirst("http://".count).split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else {
            throw StackError(.file, "\(url) is no address that the demo's proxy can reach")
        }
        target = (String(parts[0]), Int(port))
        self.poller = poller
        (listener, self.port) = try TCPSocket.listen()
    }

    deinit { close(listener) }

    /// Ends every connection at once and refuses new ones.
    package func cut() {
        state.withLock { state in
            state.isCut = true
            // Under the lock: a descriptor leaves the set before it is closed, so none is somebody else's by now.
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Lets so many more bytes through to the device, then nothing; the connections stay open.
    package func stall(after bytes: Int) { state.withLock { $0.allowance = bytes } }

    /// Whether everything stands still since `stall`.
    package var isStalled: Bool { state.withLock { $0.allowance == 0 } }

    /// Takes the network away from the connections that there are, as a dead router would.
    ///
    /// They stay open, and nothing gets through either way any more, not even that one side ends. New ones are carried.
    package func silence() { state.withLock { $0.silences += 1 } }

    /// Lets new connections, and all bytes, through again.
    package func heal() {
        state.withLock { state in
            state.isCut = false
            state.allowance = nil
        }
    }

    /// How many connections are being carried.
    package var connections: Int { state.withLock { $0.open.count / 2 } }

    /// Carries connections until the task is cancelled.
    ///
    /// - Throws: `SystemError` when the listener cannot be watched.
    package func run() async throws {
        let channel = try poller.channel(listener)
        defer { channel.deregister() }
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                do {
                    if let client = try TCPSocket.accept(listener) {
                        group.addTask { await self.carry(client) }
                    } else {
                        _ = try await channel.readable()
                    }
                } catch is SystemError {
                    // No descriptor is free: whoever waits is accepted when one is.
                    if (try? await poller.sleep(until: .now + .milliseconds(50))) == nil { break }
                } catch {
                    break
                }
            }
            group.cancelAll()
        }
    }

    private func carry(_ client: Int32) async {
        defer { close(client) }
        guard state.withLock({ !$0.isCut }) else { return }
        // A connection that fails on either side just ends; that is all a proxy can do.
        guard let server = try? TCPSocket.connect(address: target.address, port: target.port) else { return }
        defer { close(server) }
        guard let near = try? poller.channel(client) else { return }
        defer { near.deregister() }
        guard let far = try? poller.channel(server) else { return }
        defer { far.deregister() }
        guard (try? await far.writable()) != nil else { return }
        let silences = state.withLock { state -> Int? in
            guard !state.isCut else { return nil }
            state.open.formUnion([client, server])
            return state.silences
        }
        guard let silences else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.pump(near, to: far, before: silences, takes: { $0 }) }
            group.addTask { await self.pump(far, to: near, before: silences, takes: self.allow) }
            await group.waitForAll()
        }
        state.withLock { $0.open.subtract([client, server]) }
    }

    /// Takes as much of the allowance as is needed, or as there is.
    private func allow(_ count: Int) -> Int {
        state.withLock { state in
            guard let left = state.allowance else { return count }
            state.allowance = left - min(left, count)
            return min(left, count)
        }
    }

    /// Copies until the source ends or either side breaks, then ends the other direction's source too.
    ///
    /// - Parameters:
    ///   - source: where bytes come from.
    ///   - sink: where they go.
    ///   - silences: how often there was silence when the connection was made; with the next it carries nothing any more.
    ///   - takes: returns how many of some bytes may go now.
    private func pump(
        _ source: Channel, to sink: Channel, before silences: Int, takes: (Int) -> Int
    ) async {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        copying: while true {
            let count = recv(source.descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR {
                if (try? await source.readable()) == nil { break }
                continue
            }
            if state.withLock({ $0.silences > silences }) {
                // Until the task is cancelled.
                try? await poller.sleep(until: .now + .seconds(365 * 24 * 60 * 60))
                break
            }
            guard count > 0 else { break }
            var sent = 0
            var allowed = 0
            while sent < count {
                if allowed == sent { allowed += takes(count - sent) }
                if allowed == sent {
                    // Held up; a proxy that stands still may look now and then.
                    if (try? await poller.sleep(until: .now + .milliseconds(5))) == nil { break copying }
                    continue
                }
                let written = buffer.withUnsafeBytes { bytes in
                    send(sink.descriptor, bytes.baseAddress.map { $0 + sent }, allowed - sent, Self.sendFlags)
                }
                if written > 0 {
                    sent += written
                } else if errno == EAGAIN || errno == EINTR {
                    if (try? await sink.writable()) == nil { break copying }
                } else {
                    break copying
                }
            }
        }
        shutdown(source.descriptor, Int32(SHUT_RDWR))
        shutdown(sink.descriptor, Int32(SHUT_RDWR))
    }

    #if os(Linux)
        private static let sendFlags = Int32(MSG_NOSIGNAL)
    #else
        private static let sendFlags: Int32 = 0
    #endif
}
