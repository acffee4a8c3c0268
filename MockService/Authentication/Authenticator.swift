import PowerSyncCrypto
import PowerSyncServiceEngine

/// Lets requests in: takes the token out of the request, finds its key and verifies it.
package struct Authenticator: Sendable {
    private let verifier: TokenVerifier
    private let staticKeys: [TrustedKey]
    private let remoteKeys: [RemoteKeys]
    private let clock: ServiceClock
    private let keyWait: Double

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - verifier: Decides about a token and the keys.
    ///   - staticKeys: Keys that are known beforehand.
    ///   - remoteKeys: Keys that are fetched.
    ///   - clock: Tells whether a token has expired.
    ///   - keyWait: How many seconds a request waits for keys that are being fetched.
    package init(
        verifier: TokenVerifier, staticKeys: [TrustedKey], remoteKeys: [RemoteKeys], clock: ServiceClock,
        keyWait: Double = 3
    ) {
        self.verifier = verifier
        self.staticKeys = staticKeys
        self.remoteKeys = remoteKeys
        self.clock = clock
        self.keyWait = keyWait
    }

    /// Verifies the token of an Authorization field.
    ///
    /// - Parameter field: The field's value, nil if there is none.
    /// - Returns: The token.
    /// - Throws: `AuthorizationError`, or `CancellationError` while keys are fetched.
    package func authenticate(_ field: String?) async throws -> VerifiedToken {
        let text = try TokenVerifier.token(inField: field)
        do throws(AuthorizationError) {
            // The keys that are known beforehand come first, so what they say is final.
            return try verify(text, [])
        } catch {
            guard error == .noKey, !remoteKeys.isEmpty else { throw error }
        }
        // One address that is away shall hold up nobody who does not need it.
        var inMemory: [[JSONWebKey]?] = []
        for keys in remoteKeys { inMemory.append(await keys.inMemory()) }
        if let token = try? verify(text, inMemory) { return token }
        let deadline = clock.monotonic() + keyWait
        let known = try await remote { try await $1.current(until: deadline) }
        do throws(AuthorizationError) {
            return try verify(text, known.values.map { $0?.keys })
        } catch {
            guard error == .noKey, !remoteKeys.isEmpty else { throw error }
            // With a failure there is nothing that another attempt could find.
            if let failure = known.failure { throw failure }
        }
        let newer = try await remote { index, keys in
            guard let known = known.values[index] else { return [JSONWebKey]() }
            return try await keys.current(newerThan: known, until: deadline)
        }
        do throws(AuthorizationError) {
            return try verify(text, newer.values)
        } catch {
            throw error == .noKey ? newer.failure ?? error : error
        }
    }

    /// Verifies with the keys that are known beforehand, then those of each address.
    private func verify(
        _ text: String, _ fetched: [[JSONWebKey]?]
    ) throws(AuthorizationError) -> VerifiedToken {
        let keys = zip(remoteKeys, fetched).flatMap { remote, keys in
            (keys ?? []).map { TrustedKey($0, rules: remote.rules) }
        }
        return try verifier.verify(text, trusting: staticKeys + keys, now: clock.now())
    }

    /// Asks all addresses at once; what one does not tell is nil, and one reason is given for all.
    private func remote<Value: Sendable>(
        _ ask: @escaping @Sendable (_ index: Int, RemoteKeys) async throws -> Value
    ) async throws -> (values: [Value?], failure: AuthorizationError?) {
        try await withThrowingTaskGroup(of: (Int, Result<Value, AuthorizationError>).self) { group in
            for (index, keys) in remoteKeys.enumerated() {
                group.addTask {
                    do {
                        return (index, .success(try await ask(index, keys)))
                    } catch let error as AuthorizationError {
                        return (index, .failure(error))
                    }
                }
            }
            var values = [Value?](repeating: nil, count: remoteKeys.count)
            var failure: AuthorizationError?
            for try await (index, result) in group {
                switch result {
                case .success(let value): values[index] = value
                case .failure(let error): failure = error
                }
            }
            return (values, failure)
        }
    }
}
