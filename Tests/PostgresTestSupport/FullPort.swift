import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A port that neither takes connections nor refuses them: somebody listens, and the queue of those who wait is full.
///
/// To whoever connects it looks like a machine that is off. Linux alone drops the connection then.
package final class FullPort: Sendable {
    /// The port.
    package let number: Int
    private let descriptors: [Int32]

    /// Listens, and fills the queue.
    ///
    /// - Parameters:
    ///   - host: The address.
    ///   - port: 0 for any free one.
    /// - Throws: `SystemError`.
    package init(host: String = "127.0.0.1", port: Int = 0) throws {
        let (listener, number) = try TCPSocket.listen(host: host, port: port, backlog: 0)
        self.number = number
        var descriptors = [listener]
        var isFull = false
        while !isFull, descriptors.count < 64 {
            let waiting = try TCPSocket.connect(address: host, port: number)
            descriptors.append(waiting)
            // Without a network between, it is there at once or not at all.
            var request = pollfd(fd: waiting, events: Int16(POLLOUT), revents: 0)
            isFull = poll(&request, 1, 100) == 0
        }
        self.descriptors = descriptors
        guard isFull else { throw SystemError(.socket, "the queue of port \(number) does not become full") }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
