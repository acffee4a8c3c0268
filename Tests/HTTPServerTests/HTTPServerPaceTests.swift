import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPServer

/// Clients that read too slowly.
@Suite(.patient())
struct HTTPServerPaceTests {
    @Test func eachStretchOfTimeIsJudgedByItself() throws {
        let start = ContinuousClock.now
        let first = WritePace(taken: -500, now: start, within: .seconds(30))
        func judged(_ pace: WritePace?, _ taken: Int, after seconds: Int) throws -> WritePace? {
            try #require(pace).judged(taken: taken, now: start + .seconds(seconds), minimum: 1000)
        }
        #expect(try judged(first, -500, after: 29)?.end == start + .seconds(30), "it has time")
        #expect(try judged(first, 499, after: 30) == nil)
        let second = try judged(first, 500, after: 31)
        #expect(second?.end == start + .seconds(61))
        #expect(try judged(second, 1499, after: 61) == nil, "what it took before does not count again")
        #expect(try judged(second, 1500, after: 61) != nil)
    }

    /// Each piece that it reads makes room for the next one at once, yet all of them are too few.
    @Test func aClientThatTakesTooLittleIsDroppedAndItsNeighbourIsNot() async throws {
        let failure = Lock<(any Error)?>(nil)
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 8 << 10)
        let handler: HTTPHandler = { request, _ in
            HTTPResponse(
                status: 200,
                body: .stream { writer in
                    do {
                        repeat { try await writer.write(piece) } while request.path == "/endless"
                    } catch {
                        failure.withLock { $0 = error }
                        throw error
                    }
                })
        }
        let configuration = HTTPServerConfiguration.patient {
            $0.writeTimeout = .milliseconds(300)
            $0.writeMinimum = 4 << 20
            $0.sendBufferBytes = 16 << 10
        }
        try await ServerFixture.with(configuration, handler) { fixture in
            let slow = try fixture.connect(receiveBuffer: 4 << 10)
            let neighbour = try fixture.connect()
            try await slow.send("GET /endless HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the slow one to be dropped") {
                // Nothing may have come yet; or the server has closed, which the failure shows.
                _ = try? await slow.read(within: .zero)
                let answer = try await neighbour.get("/")
                #expect(answer.isComplete && answer.body.utf8.count == piece.count)
                return failure.withLock { $0 != nil }
            }
            #expect((failure.withLock { $0 } as? HTTPServerError)?.code == .writeTimeout)
        }
    }

    /// Lives as long as an answer does.
    private final class Lease: Sendable {
        private let isOver: Lock<Bool>

        init(_ isOver: Lock<Bool>) { self.isOver = isOver }

        deinit { isOver.withLock { $0 = true } }
    }

    private static func large(_ isOver: Lock<Bool>) -> HTTPHandler {
        { request, _ in
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10)
            if request.path == "/stream" {
                return HTTPResponse(
                    status: 200, body: .stream { writer in while true { try await writer.write(piece) } })
            }
            var response = HTTPResponse(
                status: 200, body: .bytes([UInt8](repeating: UInt8(ascii: "x"), count: 8 << 20)))
            response.lease = Lease(isOver)
            return response
        }
    }

    @Test func whatAnAnswerTakesIsGivenBackWhenItHasBeenTaken() async throws {
        let isOver = Lock(false)
        let configuration = HTTPServerConfiguration.patient { $0.sendBufferBytes = 16 << 10 }
        try await ServerFixture.with(configuration, Self.large(isOver)) { fixture in
            let client = try fixture.connect(receiveBuffer: 4 << 10)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await client.read()
            #expect(!isOver.withLock { $0 })
            #expect(try await client.response().body.utf8.count == 8 << 20)
            try await wait(for: "what it takes to be given back") { isOver.withLock { $0 } }
        }
    }

    /// The more of an answer is in memory, the faster it must be taken; a stream is not.
    @Test func aLongAnswerMustBeTakenInTime() async throws {
        let isOver = Lock(false)
        let configuration = HTTPServerConfiguration.patient {
            $0.writeTimeout = .seconds(4)
            // A stream may rest, so that none is dropped because this machine stands still.
            $0.writeMinimum = 0
            $0.writeBytesPerSecond = 64 << 20
            $0.sendBufferBytes = 16 << 10
        }
        try await ServerFixture.with(configuration, Self.large(isOver)) { fixture in
            let stream = try fixture.connect(receiveBuffer: 4 << 10)
            try await stream.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
            let slow = try fixture.connect(receiveBuffer: 4 << 10)
            try await slow.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the slow one to be dropped") {
                // Nothing may have come yet; or the server has closed, which the lease shows.
                for client in [stream, slow] { _ = try? await client.read(within: .zero) }
                return isOver.withLock { $0 }
            }
            try await wait(for: "its connection to end") { fixture.server.connectionCount == 1 }
        }
    }
}
