import CPowerSyncSystem
import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A listening socket.
final class Listener: Sendable {
    let port: Int
    let channel: Channel
    private let isOpen = Lock(true)

    init(_ configuration: HTTPServerConfiguration, poller: Poller) throws(HTTPServerError) {
        guard (0...65_535).contains(configuration.port) else {
            throw HTTPServerError(.cannotListen, "port \(configuration.port) is not between 0 and 65535")
        }
        var host = configuration.host
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        var port = Int32(configuration.port)
        let descriptor = powersync_listen(host, &port, 1024)
        guard descriptor >= 0 else { throw Self.explain(-descriptor, configuration) }
        do throws(SystemError) {
            channel = try poller.channel(descriptor)
        } catch {
            closeDescriptor(descriptor)
            throw HTTPServerError(.cannotListen, "\(configuration.name) cannot listen: \(error)")
        }
        self.port = Int(port)
    }

    deinit { close() }

    /// Returns the next connection that has arrived and whose it is; nil when there is none now.
    ///
    /// - Throws: When the system refuses another descriptor.
    func accept() throws(SystemError) -> (descriptor: Int32, peer: IPAddress?)? {
        try TCPSocket.acceptWithPeer(channel.descriptor)
    }

    func close() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            channel.deregister()
            closeDescriptor(channel.descriptor)
        }
    }

    private static func explain(_ errno: Int32, _ configuration: HTTPServerConfiguration) -> HTTPServerError {
        let place = "port \(configuration.port) on \(configuration.host)"
        switch errno {
        case EADDRINUSE:
            return HTTPServerError(
                .addressInUse,
                "\(configuration.name) cannot listen: \(place) is already in use; stop the program that listens "
                    + "there or choose another port")
        case EADDRNOTAVAIL:
            return HTTPServerError(
                .addressNotAvailable,
                "\(configuration.name) cannot listen: \(configuration.host) is no address of this machine; "
                    + "choose 127.0.0.1 for this machine alone or 0.0.0.0 for everybody")
        case EACCES:
            return HTTPServerError(
                .permissionDenied,
                "\(configuration.name) cannot listen: \(place) is reserved; choose a port from 1024 on")
        default:
            return HTTPServerError(
                .cannotListen,
                "\(configuration.name) cannot listen on \(place): \(SystemError.text(of: errno))")
        }
    }
}
