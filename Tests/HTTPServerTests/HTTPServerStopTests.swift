import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct HTTPServerStopTests {
    @Test func aRequestInWorkIsAnsweredAndTheRestIsClosed() async throws {
        let gate = Gate()
        try await ServerFixture.with({ request, body in
            if request.path == "/slow" {
                await gate.pass()
                return .text(Task.isCancelled ? "cancelled" : "finished")
            }
            return .text("quick")
        }) { fixture in
            defer { gate.open() }
            let idle = try fixture.connect()
            #expect(try await idle.get("/").body == "quick")
            let busy = try fixture.connect()
            try await busy.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the request to be in work") { gate.arrivals == 1 }
            fixture.server.stop(grace: .seconds(3600))
            #expect(try await idle.rest() == "", "an idle connection is closed at once")
            try await wait(for: "new connections to be refused") {
                (try? await fixture.connect().get("/")) == nil
            }
            gate.open()
            let response = try await busy.response()
            #expect(response.body == "finished")
            #expect(response.has("connection: close"))
            #expect(try await busy.rest() == "")
            try await wait(for: "the connection to go") { fixture.server.connectionCount == 0 }
        }
    }

    @Test func runReturnsAsSoonAsTheLastConnectionHasEnded() async throws {
        let poller = try Poller()
        let server = try HTTPServer(configuration: .patient(), poller: poller)
        async let running: Void = server.run(echo)
        let client = try RawClient(server.port, poller)
        #expect(try await client.get("/").status == 200)
        server.stop(grace: .seconds(3600))
        await running
    }

    @Test func noRequestIsLostBetweenItsArrivalAndTheStop() async throws {
        for _ in 0..<10 {
            let poller = try Poller()
            let server = try HTTPServer(configuration: .patient(), poller: poller)
            async let running: Void = server.run(echo)
            let clients = try (0..<30).map { _ in try RawClient(server.port, poller) }
            for client in clients { #expect(try await client.get("/first").status == 200) }
            // The bytes lie in the kernel when the server stops; who reads them first differs each time.
            for client in clients { try await client.send("GET /last HTTP/1.1\r\nHost: h\r\n\r\n") }
            server.stop(grace: .seconds(3600))
            for client in clients {
                #expect(try await client.response().body == "GET /last ")
                #expect(try await client.rest() == "")
                client.leave()
            }
            await running
        }
    }

    @Test func whoWaitsInTheQueueWhenTheServerStopsIsServed() async throws {
        let poller = try Poller()
        let server = try HTTPServer(configuration: .patient(), poller: poller)
        let clients = try (0..<10).map { _ in try RawClient(server.port, poller) }
        for client in clients { try await client.send("GET /q HTTP/1.1\r\nHost: h\r\n\r\n") }
        server.stop(grace: .seconds(3600))
        async let running: Void = server.run(echo)
        for client in clients {
            #expect(try await client.response().body == "GET /q ")
            client.leave()
        }
        await running
    }

    @Test func aStreamIsEndedAtOnceAndMayEndProperly() async throws {
        try await ServerFixture.with({ request, _ in
            HTTPResponse(
                status: 200,
                body: .stream { writer in
                    try await writer.write(Array("begun".utf8))
                    if request.path == "/proper" {
                        // Ends without an error when the task is cancelled.
                        for await _ in AsyncStream<Void>.makeStream().stream {}
                    } else {
                        try await Task.sleep(for: .seconds(3600))
                    }
                })
        }) { fixture in
            let proper = try fixture.connect()
            let broken = try fixture.connect()
            for (client, path) in [(proper, "/proper"), (broken, "/broken")] {
                try await client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                while let line = try await client.line(), line != "\r\n" {}
                #expect(try await client.chunk() == "begun")
            }
            fixture.server.stop(grace: .seconds(3600))
            #expect(try await proper.chunk() == "")
            #expect(try await broken.chunk() == nil)
            try await wait(for: "both to go") { fixture.server.connectionCount == 0 }
        }
    }

    @Test func theGraceIsNotExceeded() async throws {
        let wasCancelled = Lock(false)
        let began = Lock(false)
        try await ServerFixture.with({ _, _ in
            began.withLock { $0 = true }
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                wasCancelled.withLock { $0 = true }
            }
            return .text("late")
        }) { fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the request to be in work") { began.withLock { $0 } }
            fixture.server.stop(grace: .milliseconds(100))
            try await wait(for: "the connection to be cut") { fixture.server.connectionCount == 0 }
            #expect(wasCancelled.withLock { $0 })
        }
    }

    @Test func cancellingTheServersTaskCutsEverything() async throws {
        let poller = try Poller()
        let server = try HTTPServer(configuration: .patient(), poller: poller)
        let began = Lock(false)
        let running = Task {
            await server.run { _, _ in
                began.withLock { $0 = true }
                try? await Task.sleep(for: .seconds(3600))
                return .text("late")
            }
        }
        let client = try RawClient(server.port, poller)
        try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        try await wait(for: "the request to be in work") { began.withLock { $0 } }
        #expect(server.connectionCount == 1)
        running.cancel()
        await running.value
        #expect(server.connectionCount == 0)
        await #expect(throws: (any Error).self) { try await RawClient(server.port, poller).get("/") }
    }
}
