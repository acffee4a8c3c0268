/// One way to prove whom a request is from.
package protocol Authenticator: Sendable {
    /// Returns whom credentials prove.
    ///
    /// - Parameter credentials: what the request shows; chosen for this authenticator, which is asked alone.
    /// - Returns: who it is.
    /// - Throws: `Problem` 401 or 403, which never says more than which rule failed, and 503 where nobody can tell now.
    func principal(_ credentials: Credentials) async throws(Problem) -> Principal
}

/// One that reads tokens, whose answers may be remembered while its keys stay.
protocol TokenAuthenticator: Authenticator {
    /// By whose keys tokens count.
    var kind: Principal.Kind { get }

    /// Another number once other keys count.
    func generation() async -> Int
}
