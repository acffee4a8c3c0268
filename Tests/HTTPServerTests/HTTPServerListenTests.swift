import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

struct HTTPServerListenTests {
    private func server(_ host: String, port: Int = 0, poller: Poller) throws -> HTTPServer {
        try HTTPServer(
            configuration: .patient { ($0.host, $0.port, $0.name) = (host, port, "the test") },
            poller: poller)
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0", "localhost", "::1", "[::1]", "::"])
    func everySpellingOfAnAddressIsTaken(host: String) throws {
        let server = try server(host, poller: try Poller())
        #expect(server.port > 0)
    }

    @Test func theAddressForEverybodyIsReachedOverIPv4Too() async throws {
        try await ServerFixture.with(.patient { $0.host = "::" }, echo) { fixture in
            let response = try await fixture.connect().get("/four")
            #expect(response.body == "GET /four ")
        }
    }

    @Test func aPortInUseIsSaidInOneLineThatHelps() throws {
        let poller = try Poller()
        let first = try server("127.0.0.1", poller: poller)
        let error = #expect(throws: HTTPServerError.self) {
            try server("127.0.0.1", port: first.port, poller: poller)
        }
        #expect(error?.code == .addressInUse)
        #expect(
            error?.description
                == "the test cannot listen: port \(first.port) on 127.0.0.1 is already in use; stop the program "
                + "that listens there or choose another port")
    }

    @Test func aPortIsFreeAgainRightAfterItsServer() async throws {
        let poller = try Poller()
        var port = 0
        for _ in 0..<5 {
            let server = try server("127.0.0.1", port: port, poller: poller)
            port = server.port
            async let running: Void = server.run(echo)
            let client = try RawClient(port, poller)
            #expect(try await client.get("/").status == 200)
            server.stop(grace: .seconds(3600))  // closes first, which leaves the port in TIME_WAIT
            #expect(try await client.rest() == "")
            await running
        }
    }

    @Test(arguments: [
        ("192.0.2.1", 0, HTTPServerError.Code.addressNotAvailable),
        ("no such host", 0, .addressNotAvailable), ("127.0.0.1", 65_536, .cannotListen),
        ("127.0.0.1", -1, .cannotListen),
    ])
    func whatCannotBeListenedOnIsExplained(host: String, port: Int, code: HTTPServerError.Code) throws {
        let error = #expect(throws: HTTPServerError.self) {
            try server(host, port: port, poller: try Poller())
        }
        #expect(error?.code == code)
        #expect(error?.description.contains("\n") == false)
    }
}

struct DescriptorLimitTests {
    /// In a process of its own, because the limit holds for the whole process. (That it is never reached matters:
    /// libdispatch ends the process when its watch over the workers gets no descriptor.)
    @Test func theServersCapLeavesDescriptorsToTheProgram() async {
        await #expect(processExitsWith: .success) {
            // Beside the three there are 32 that are leaving.
            for reserved in [64, 40] {
                let most = reserved + 32 + 3
                try DescriptorLimit.set(most, hard: most)
                let gate = Gate()
                let configuration = HTTPServerConfiguration.patient { $0.reservedDescriptors = reserved }
                try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
                    defer { gate.open() }
                    let clients = try await fixture.hold(3, at: gate)
                    #expect(try await fixture.connect().get("/").status == 503)
                    withExtendedLifetime(clients) {}
                }
            }
        }
    }

    /// In a process of its own, as above.
    @Test(.enabled("needs a hard limit of 4,096 descriptors") { DescriptorLimit.hard >= 4096 })
    func theSoftLimitIsRaisedToTheHardOne() async {
        await #expect(processExitsWith: .success) {
            try DescriptorLimit.set(1024, hard: 4096)
            try await ServerFixture.with(echo) { fixture in
                let clients = try (0..<1200).map { _ in try fixture.connect() }
                for client in clients { #expect(try await client.get("/").status == 200) }
                #expect(fixture.server.connectionCount == 1200)
            }
        }
    }
}
