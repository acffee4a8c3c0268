import Testing

@testable import PowerSyncHTTPClient

/// What is known of an address before it is used.
struct CurlTargetTests {
    @Test(arguments: [
        "http://127.0.0.1/": true, "http://127.9.8.7:80/": true, "http://127.1/": true,
        "https://LOCALHOST/": true, "http://a.localhost/": true, "http://[::1]:8080/": true,
        "http://127.example.com/": false, "http://127.0.0.1.example.com/": false,
        "http://localhost.example.com/": false, "http://128.0.0.1/": false, "http://[::2]/": false,
    ])
    func thisMachineIsKnownByItsNamesAndAddresses(_ url: String, _ isLoopback: Bool) throws {
        #expect(try CurlTarget(url).isLoopback == isLoopback)
    }
}
