import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

#if os(Linux)
    /// What the server asks of the system for each connection.
    @Suite(.patient())
    struct AcceptedSocketTests {
        /// The server's end of a connection: the socket of this process whose peer is the client's.
        private func accepted(_ client: RawClient) throws -> Int32 {
            let own = try #require(port(client.descriptor, getsockname))
            return try #require((0..<Int32(getdtablesize())).first { port($0, getpeername) == own })
        }

        private func port(
            _ descriptor: Int32,
            _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
        ) -> UInt16? {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
            }
            return status == 0 && address.sin_family == sa_family_t(AF_INET) ? address.sin_port : nil
        }

        private func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32 {
            var value: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, level, name, &value, &length)
            return value
        }

        @Test func aClientThatIsNotHeardOfIsGivenUpWithinAMinute() async throws {
            try await ServerFixture.with(echo) { fixture in
                let client = try fixture.connect()
                #expect(try await client.get("/").status == 200)
                let socket = try accepted(client)
                let tcp = Int32(IPPROTO_TCP)
                #expect(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1)
                let asks = option(socket, tcp, TCP_KEEPIDLE)
                #expect(asks + option(socket, tcp, TCP_KEEPINTVL) * option(socket, tcp, TCP_KEEPCNT) <= 60)
                #expect(option(socket, tcp, TCP_USER_TIMEOUT) == 60_000)
            }
        }

        @Test func aClientThatDoesNotReadGetsAQuarterOfAMegabyteAtMost() async throws {
            try await ServerFixture.with(echo) { fixture in
                let client = try fixture.connect()
                #expect(try await client.get("/").status == 200)
                #expect(option(try accepted(client), SOL_SOCKET, SO_SNDBUF) <= 256 << 10)
            }
        }

        /// The system ends the connection (`TCP_USER_TIMEOUT`); whoever writes must be able to say why.
        @Test func aClientThatTakesNothingIsTooSlowForTheSystemToo() async throws {
            let failure = Lock<(any Error)?>(nil)
            let configuration = HTTPServerConfiguration.patient {
                $0.writeTimeout = .seconds(3600)
                $0.peerTimeout = .seconds(1)
                $0.sendBufferBytes = 16 << 10
            }
            let handler: HTTPHandler = { _, _ in
                HTTPResponse(
                    status: 200,
                    body: .stream { writer in
                        do {
                            while true { try await writer.write([UInt8](repeating: 0, count: 8 << 10)) }
                        } catch {
                            failure.withLock { $0 = error }
                            throw error
                        }
                    })
            }
            try await ServerFixture.with(configuration, handler) { fixture in
                let client = try fixture.connect(receiveBuffer: 4 << 10)
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                try await wait(for: "the connection to end") { failure.withLock { $0 != nil } }
                #expect((failure.withLock { $0 } as? HTTPServerError)?.code == .writeTimeout)
            }
        }

        /// The network is one of a process of its own, so that it can be switched off.
        @Test(
            .enabled("needs the right to make network namespaces") {
                try await ChildProcess.run("unshare", ["--net", "true"], timeout: TestOptions.deadline).status
                    == .exited(0)
            })
        func clientsThatVanishFreeTheirPlaces() async throws {
            try await ProcessTurn.take {
                await #expect(processExitsWith: .success) {
                    // With the times of production a minute and a half is promised.
                    let isReal = TestOptions.number("POWERSYNC_REAL_TIMES", standard: 0) == 1
                    let count = isReal ? 1000 : 3
                    var configuration = HTTPServerConfiguration(
                        headerTimeout: .seconds(3600), idleTimeout: .seconds(3600))
                    if !isReal { configuration.peerTimeout = .seconds(2) }
                    let network = try OwnNetwork()
                    let poller = try Poller()
                    // Sockets belong to the network of the thread that makes them.
                    let server = try HTTPServer(configuration: configuration, poller: poller)
                    let clients = try (0..<count).map { _ in try RawClient(server.port, poller) }
                    async let running: Void = server.run(echo)
                    for client in clients { #expect(try await client.get("/").status == 200) }
                    #expect(server.connectionCount == count)
                    try network.switchOff()
                    try await wait(
                        for: "the places to be free", within: isReal ? .seconds(90) : TestOptions.deadline
                    ) {
                        server.connectionCount == 0
                    }
                    server.stop(grace: .zero)
                    await running
                }
            }
        }
    }

    /// A network that the calling thread alone is in, with nothing but 127.0.0.1.
    private struct OwnNetwork {
        // Functions of the C library that its Swift module does not show.
        private typealias Unshare = @convention(c) (Int32) -> Int32
        private typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        private static let network: Int32 = 0x4000_0000

        private let descriptor: Int32

        init() throws {
            let unshare = unsafeBitCast(try #require(dlsym(nil, "unshare")), to: Unshare.self)
            try #require(unshare(Self.network) == 0)
            descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
            try #require(descriptor >= 0)
            try Self.set(isUp: true)
        }

        /// From here on nothing arrives any more, and nobody is told.
        func switchOff() throws {
            let setNamespace = unsafeBitCast(try #require(dlsym(nil, "setns")), to: SetNamespace.self)
            try #require(setNamespace(descriptor, Self.network) == 0)
            try Self.set(isUp: false)
        }

        /// Sets the flags of `lo` (netdevice(7)); `ip` is not in every system.
        private static func set(isUp: Bool) throws {
            let probe = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            try #require(probe >= 0)
            defer { close(probe) }
            // struct ifreq: the name, then the flags.
            let request = UnsafeMutableRawBufferPointer.allocate(byteCount: 40, alignment: 8)
            defer { request.deallocate() }
            request.initializeMemory(as: UInt8.self, repeating: 0)
            request.copyBytes(from: Array("lo".utf8))
            let pointer = try #require(request.baseAddress)
            try #require(ioctl(probe, UInt(SIOCGIFFLAGS), pointer) == 0)
            var flags = request.load(fromByteOffset: 16, as: Int16.self)
            if isUp { flags |= 1 } else { flags &= ~1 }
            request.storeBytes(of: flags, toByteOffset: 16, as: Int16.self)
            try #require(ioctl(probe, UInt(SIOCSIFFLAGS), pointer) == 0)
        }
    }
#endif
