import PowerSyncCrypto

/// Lets requests in: takes the token out of the request, finds its key and verifies it.
package struct Authenticator: Sendable {
    private let verifier: TokenVerifier
    private let staticKeys: [JSONWebKey]
    private let remoteKeys: [RemoteKeys]
    private let now: @Sendable () -> Double

    /// Makes an authenticator of its parts.
    package init(
        verifier: TokenVerifier, staticKeys: [JSONWebKey], remoteKeys: [RemoteKeys],
        now: @escaping @Sendable () -> Double
    ) {
        self.verifier = verifier
        self.staticKeys = staticKeys
        self.remoteKeys = remoteKeys
        self.now = now
    }

    /// Verifies the token of an Authorization field.
    ///
    /// - Parameter field: The field's value, nil if there is none.
    /// - Returns: The token.
    /// - Throws: `AuthorizationError`, or `CancellationError` while keys are fetched.
    package func authenticate(_ field: String?) async throws -> VerifiedToken {
        let text = try TokenVerifier.token(inField: field)
        let (keys, failure) = try await keys { try await $0.current() }
        do throws(AuthorizationError) {
            return try verifier.verify(text, keys: keys, now: now())
        } catch {
            guard error == .noKey, !remoteKeys.isEmpty else { throw error }
            // With a failure there is nothing that another attempt could find.
            if let failure { throw failure }
        }
        let (newKeys, newFailure) = try await self.keys { try await $0.currentAfterMiss() }
        do throws(AuthorizationError) {
            return try verifier.verify(text, keys: newKeys, now: now())
        } catch {
            throw error == .noKey ? newFailure ?? error : error
        }
    }

    private func keys(
        _ get: (RemoteKeys) async throws -> [JSONWebKey]
    ) async throws -> (keys: [JSONWebKey], failure: AuthorizationError?) {
        var keys = staticKeys
        var failure: AuthorizationError?
        for remote in remoteKeys {
            do {
                keys += try await get(remote)
            } catch let error as AuthorizationError {
                failure = error
            }
        }
        return (keys, failure)
    }
}
