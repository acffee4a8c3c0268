import CPowerSyncCurl
import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPClient

@Suite(.patient())
struct CurlLoopTests {
    /// Tasks drop clients, on threads that all tasks share.
    @Test func droppingAClientDoesNotWaitForItsThread() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let client = Lock<HTTPClient?>(
            try HTTPClient(
                driving: CurlLoop(now: {
                    gate.wait()
                    return .now
                })))
        try await wait(for: "the thread to be held up") { gate.arrivals > 0 }
        let dropping = Task<Void, any Error> { client.withLock { $0 = nil } }
        try await wait(forEndOf: dropping)
    }

    #if os(Linux)
        @Test func theSystemShowsWhoseThreadItIs() async throws {
            let name = Lock<String?>(nil)
            // Without a request nobody else asks for the time.
            let client = try HTTPClient(
                driving: CurlLoop(now: {
                    let comm = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                    name.withLock { $0 = comm }
                    return .now
                }))
            defer { client.close() }
            try await wait(for: "a turn of the thread") { name.withLock { $0 } != nil }
            #expect(name.withLock { $0 } == DetachedThread.name + "\n")
        }
    #endif

    /// The one refusal that can be brought about: the others are a lack of memory and mistakes of ours.
    @Test func aHandleThatLibcurlRefusesIsAnError() throws {
        let loop = try CurlLoop()  // initialises libcurl
        try loop.start()
        defer { loop.stop() }
        let multi = try #require(curl_multi_init())
        let easy = try #require(curl_easy_init())
        defer {
            curl_multi_remove_handle(multi, easy)
            curl_easy_cleanup(easy)
            curl_multi_cleanup(multi)
        }
        try CurlLoop.add(easy, to: multi)
        let error = #expect(throws: HTTPClientError.self) { try CurlLoop.add(easy, to: multi) }
        #expect(error?.code == .other)
        #expect(error?.message.hasPrefix("libcurl refuses the request: ") == true)
        #expect(error?.message.contains("already") == true, "\(error?.message ?? "")")
    }
}
