import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite(.patient())
struct TCPSocketTests {
    private func accepted(_ listener: Int32) async throws -> Int32 {
        let descriptor = try await wait(
            for: "a connection", read: { try TCPSocket.accept(listener) }, until: { $0 != nil })
        return try #require(descriptor)
    }

    @Test func twoEndsTalkWithoutBlockingAndNeitherReachesAProgram() async throws {
        let (listener, port) = try TCPSocket.listen()
        defer { close(listener) }
        #expect(try TCPSocket.accept(listener) == nil, "nobody has come yet")
        let configured = Lock<Int32>(-1)
        let client = try TCPSocket.connect(port: port) { descriptor in
            var peer = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &peer) { peer in
                peer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(descriptor, $0, &length)
                }
            }
            #expect(isConnected == -1, "its options are set before it connects")
            configured.withLock { $0 = descriptor }
        }
        defer { close(client) }
        #expect(configured.withLock { $0 } == client)
        let server = try await accepted(listener)
        defer { close(server) }
        for descriptor in [listener, client, server] {
            #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(write(server, "abc", 3) == 3)
        var buffer = [UInt8](repeating: 0, count: 8)
        try await wait(for: "the bytes", read: { read(client, &buffer, 8) }, until: { $0 == 3 })
    }

    @Test func aPortThatSomebodyListensOnIsRefused() throws {
        let (listener, port) = try TCPSocket.listen()
        defer { close(listener) }
        let error = #expect(throws: SystemError.self) { try TCPSocket.listen(port: port) }
        #expect(error?.code == .socket && error?.errno == EADDRINUSE)
    }

    @Test func anAddressOfAnotherMachineIsRefused() {
        let error = #expect(throws: SystemError.self) { try TCPSocket.listen(host: "192.0.2.1") }
        #expect(error?.code == .socket && error?.errno == EADDRNOTAVAIL)
        #expect(error?.description.hasPrefix("cannot listen on 192.0.2.1: ") == true)
    }

    @Test func aRefusedConnectionEndsTheConnecting() async throws {
        let port = try RefusingPort()
        let poller = try Poller()
        let client: Int32
        do {
            client = try TCPSocket.connect(port: port.number)
        } catch {
            #expect(error.errno == ECONNREFUSED)
            return
        }
        defer { close(client) }
        let channel = try poller.channel(client)
        defer { channel.deregister() }
        #expect(try await channel.writable(until: .now + TestOptions.deadline))
        var reason: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(client, SOL_SOCKET, SO_ERROR, &reason, &length)
        #expect(reason == ECONNREFUSED)
    }

    @Test(arguments: [("127.0.0.1", -1), ("127.0.0.1", 65_536), ("localhost", 80), ("", 80), ("::1", 80)])
    func whatIsNoAddressOrPortIsRefused(address: String, port: Int) {
        let error = #expect(throws: SystemError.self) { try TCPSocket.connect(address: address, port: port) }
        #expect(error?.code == .socket)
    }

    /// In a process of its own, because the limit and the descriptors are the process's.
    @Test func failuresGiveTheirDescriptorsBackAndNoneLeftIsSaid() async {
        await #expect(processExitsWith: .success) {
            let (listener, port) = try TCPSocket.listen()
            // Sockets alone: the runtime and the test library open files of their own when they please.
            let before = openSockets()
            for _ in 0..<10 {
                #expect(throws: SystemError.self) { try TCPSocket.listen(port: port) }
                #expect(throws: SystemError.self) { try TCPSocket.connect(address: "x", port: port) }
            }
            #expect(openSockets() == before)
            let client = try TCPSocket.connect(port: port)
            defer { close(client) }
            try DescriptorLimit.set(Int(client) + 64)
            while dup(client) >= 0 {}
            let error = #expect(throws: SystemError.self) {
                while try TCPSocket.accept(listener) == nil {}
            }
            #expect(error?.errno == EMFILE)
        }
    }
}

/// The descriptors of this process that are sockets.
private func openSockets() -> [Int32] {
    (0..<1_024).filter { descriptor in
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }
}
