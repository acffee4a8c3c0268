import PowerSyncHTTPClient
import PowerSyncTestSupport

extension HTTPClientRequest {
    /// A request with the deadline of everything that tests wait for, where a test names no times.
    ///
    /// A machine that stands still does not connect within the ten seconds of production.
    init(url: String) {
        self.init(method: "GET", url: url)
    }

    /// The same with another method.
    init(method: String, url: String) {
        self.init(
            method: method, url: url, connectTimeout: TestOptions.deadline,
            idleTimeout: TestOptions.deadline)
    }
}
