import PowerSyncSystem

extension PostgresConnection {
    /// So many addresses of one name are tried.
    private static let addressLimit = 16

    /// Looks up the names of all places, and leaves only addresses that may be connected to.
    ///
    /// libpq then looks nothing up: its own look-up has no deadline, and could find another address than the one that was
    /// checked. As with libpq, a place without an address is passed over while there is another.
    ///
    /// - Parameters:
    ///   - places: Where the server is said to be.
    ///   - rules: Which addresses may be connected to.
    ///   - poller: Looks the names up.
    ///   - end: When that must have come to an end.
    /// - Returns: One place for each address, in their order.
    /// - Throws: `PostgresError` (`unavailable`, `connectTimedOut`, `rejectedAddress`, `invalidInput`) if nothing is left;
    ///   `CancellationError`.
    static func resolved(
        _ places: [ServerPlace], _ rules: PostgresAddressRules, _ poller: Poller,
        until end: ContinuousClock.Instant
    ) async throws -> [ServerPlace] {
        let now = ContinuousClock.now
        // A name that nobody answers for must leave time for the others.
        let end = places.count > 1 ? now + (end - now) / 2 : end
        let results = try await withThrowingTaskGroup(
            of: (Int, Result<[ServerPlace], PostgresError>).self
        ) { group in
            for (index, place) in places.enumerated() {
                group.addTask { (index, try await addresses(of: place, rules, poller, until: end)) }
            }
            var results = [Result<[ServerPlace], PostgresError>](repeating: .success([]), count: places.count)
            for try await (index, result) in group { results[index] = result }
            return results
        }
        let found = results.flatMap { result in
            if case .success(let places) = result { places } else { [ServerPlace]() }
        }
        // With another place to go to it does not matter why one has no address.
        guard found.isEmpty, let first = results.first else { return found }
        return try first.get()
    }

    private static func addresses(
        of place: ServerPlace, _ rules: PostgresAddressRules, _ poller: Poller,
        until end: ContinuousClock.Instant
    ) async throws -> Result<[ServerPlace], PostgresError> {
        if place.isSocket {
            return rules.rejected.isEmpty
                ? .success([place])
                : .failure(
                    PostgresError(
                        .rejectedAddress,
                        "a socket of this machine has no address that could be compared with the rejected ranges"
                    ))
        }
        let text = place.address.isEmpty ? place.host : place.address
        var addresses: [IPAddress]
        if let address = IPAddress(text) {
            addresses = [address]
        } else if !place.address.isEmpty {
            return .failure(PostgresError(.invalidInput, "'hostaddr' is no numeric address"))
        } else {
            do {
                guard let found = try await poller.addresses(of: text, until: end) else {
                    return .failure(
                        PostgresError(.connectTimedOut, "looking up the host name \"\(text)\" took too long"))
                }
                addresses = found
            } catch let error as SystemError where error.code == .nameLookup {
                return .failure(
                    PostgresError(
                        .unavailable, "could not translate host name \"\(text)\" to address: \(error)"))
            }
        }
        addresses.removeAll(where: rules.rejected.contains)
        guard !addresses.isEmpty else {
            return .failure(
                PostgresError(
                    .rejectedAddress,
                    "every address of the host \"\(text)\" is in a range that the configuration rejects"))
        }
        return .success(
            addresses.prefix(addressLimit).map { address in
                ServerPlace(
                    host: rules.serverName ?? place.host, address: address.description, port: place.port)
            })
    }
}
