import CPowerSyncCurl
import Testing

@testable import PowerSyncHTTPClient

struct CurlLoopTests {
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
