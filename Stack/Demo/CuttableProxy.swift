import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP proxy on 127.0.0.1 whose connections can be cut, to take one device off the network.
package final class CuttableProxy: Sendable {
    private struct State {
        var isCut = false
        var open: Set<Int32> = []
    }

    /// Where it listens, as a URL.
    package var url: String { "http://127.0.0.1:\(port)" }
    private let port: Int
    private let listener: Int32
    private let target: sockaddr_in
    private let poller: Poller
    private let state = Lock(State())

    /// Listens on a free port.
    ///
    /// - Parameters:
    ///   - url: `http://` and a numeric IPv4 address with a port, to which connections go.
    ///   - poller: the poller of the program.
    /// - Throws: `StackError` if the URL is another one or nothing can listen.
    package init(to url: String, poller: Poller) throws {
        let parts = url.dropFirst("http://".count).split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else {
            throw StackError(.file, "\(url) is no address that the demo's proxy can reach")
        }
        var target = Self.address(port: port)
        inet_pton(AF_INET, String(parts[0]), &target.sin_addr)
        self.target = target
        self.poller = poller
        listener = Self.streamSocket()
        var address = Self.address(port: 0)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, pointer, &length) == 0
            }
        }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        guard isListening else { throw StackError(.file, "the demo's proxy cannot listen on 127.0.0.1") }
    }

    /// Ends every connection at once and refuses new ones.
    package func cut() {
        let open = state.withLock { state in
            state.isCut = true
            return state.open
        }
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Lets new connections through again.
    package func heal() { state.withLock { $0.isCut = false } }

    /// Carries connections until the task is cancelled.
    package func run() async {
        defer { close(listener) }
        // Without readiness there is nothing to carry: the program is ending.
        guard let channel = try? poller.channel(listener) else { return }
        defer { channel.deregister() }
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let client = accept(listener, nil, nil)
                if client >= 0 {
                    group.addTask { await self.carry(client) }
                } else if (try? await channel.readable()) == nil {
                    break
                }
            }
            group.cancelAll()
        }
    }

    private func carry(_ client: Int32) async {
        defer { close(client) }
        guard state.withLock({ !$0.isCut }) else { return }
        let server = Self.streamSocket()
        defer { close(server) }
        // A connection that fails on either side just ends; that is all a proxy can do.
        guard let near = try? poller.channel(client) else { return }
        defer { near.deregister() }
        guard let far = try? poller.channel(server) else { return }
        defer { far.deregister() }
        var target = target
        let result = withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0 {
            guard errno == EINPROGRESS, (try? await far.writable()) != nil else { return }
        }
        let isOpen = state.withLock { state in
            guard !state.isCut else { return false }
            state.open.formUnion([client, server])
            return true
        }
        guard isOpen else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await Self.pump(near, to: far) }
            group.addTask { await Self.pump(far, to: near) }
            await group.waitForAll()
        }
        state.withLock { $0.open.subtract([client, server]) }
    }

    /// Copies until the source ends or either side breaks, then ends the other direction's source too.
    private static func pump(_ source: Channel, to sink: Channel) async {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        copying: while true {
            let count = recv(source.descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR {
                if (try? await source.readable()) == nil { break }
                continue
            }
            guard count > 0 else { break }
            var sent = 0
            while sent < count {
                let written = buffer.withUnsafeBytes { bytes in
                    send(sink.descriptor, bytes.baseAddress.map { $0 + sent }, count - sent, sendFlags)
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

    private static func streamSocket() -> Int32 {
        #if os(Linux)
            socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #else
            socket(AF_INET, SOCK_STREAM, 0)
        #endif
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        return address
    }
}
