#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Finds the addresses of hosts' names, on threads of its own.
///
/// The system's call has no deadline and cannot be ended: a look-up goes on when nobody waits for it any more. Who asks
/// for the same name meanwhile joins it, so a name takes one thread at most, and all together as many as the limit.
package final class NameLookup: Sendable {
    /// Finds the addresses of a name, in the order in which they are to be tried; blocks.
    package typealias Resolver = @Sendable (_ name: String) -> Result<[IPAddress], SystemError>

    private typealias Waiter = Resumption<[IPAddress], any Error>

    private enum Place {
        case begun
        case joined
        case refused(any Error)
    }

    private struct State {
        /// Those who wait, by the name that a thread is looking up.
        var running: [String: [UInt64: Waiter]] = [:]
        var lastID: UInt64 = 0
    }

    private let limit: Int
    private let resolver: Resolver
    private let state = Lock(State())

    /// Makes look-ups, none of which has begun.
    ///
    /// - Parameters:
    ///   - limit: How many names may be looked up at once; one more fails.
    ///   - resolver: Finds the addresses; the system's way by default.
    package init(limit: Int = 16, resolver: @escaping Resolver = NameLookup.system) {
        self.limit = limit
        self.resolver = resolver
    }

    /// How many names are being looked up.
    package var count: Int { state.withLock { $0.running.count } }

    /// Returns the addresses of a name.
    ///
    /// - Parameter name: The name, or an address in any form that the system knows.
    /// - Returns: The addresses, each once, in the order in which they are to be tried.
    /// - Throws: `SystemError` with `.nameLookup`; `CancellationError`.
    package func addresses(of name: String) async throws -> [IPAddress] {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withThrowingResumption { (waiter: Waiter) in
                switch take(name, id, waiter) {
                case .begun: begin(name)
                case .joined: break
                case .refused(let error): waiter.resume(throwing: error)
                }
            }
        } onCancel: {
            let waiter = state.withLock { $0.running[name]?.removeValue(forKey: id) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func take(_ name: String, _ id: UInt64, _ waiter: Waiter) -> Place {
        state.withLock { state in
            // The cancellation handler may have run already and have found nobody waiting.
            if Task.isCancelled { return .refused(CancellationError()) }
            if state.running[name] != nil {
                state.running[name]?[id] = waiter
                return .joined
            }
            guard state.running.count < limit else {
                return .refused(
                    SystemError(
                        .nameLookup, "\(limit) other names are being looked up and do not come to an end"))
            }
            state.running[name] = [id: waiter]
            return .begun
        }
    }

    private func begin(_ name: String) {
        do {
            try DetachedThread.start { [self] in end(name, resolver(name).mapError { $0 as any Error }) }
        } catch {
            end(name, .failure(error))
        }
    }

    private func end(_ name: String, _ result: Result<[IPAddress], any Error>) {
        let waiters = state.withLock { $0.running.removeValue(forKey: name) } ?? [:]
        for waiter in waiters.values { waiter.resume(with: result) }
    }

    /// Asks the system (getaddrinfo(3)).
    ///
    /// - Parameter name: The name.
    /// - Returns: Its addresses, or why there are none.
    package static func system(_ name: String) -> Result<[IPAddress], SystemError> {
        var hints = addrinfo()
        #if os(Linux)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &found)
        guard status == 0 else {
            return .failure(SystemError(.nameLookup, String(cString: gai_strerror(status))))
        }
        defer { freeaddrinfo(found) }
        var addresses: [IPAddress] = []
        var entry = found
        while let current = entry {
            let address = IPAddress(current.pointee.ai_addr)
            if let address, !addresses.contains(address) { addresses.append(address) }
            entry = current.pointee.ai_next
        }
        return .success(addresses)
    }
}

extension Poller {
    /// Returns the addresses of a name; nil when the deadline passes first.
    ///
    /// - Parameters:
    ///   - name: The name, or an address in any form that the system knows.
    ///   - deadline: How long to wait for them.
    /// - Returns: The addresses, each once, in the order in which they are to be tried.
    /// - Throws: `SystemError` with `.nameLookup`; `CancellationError`.
    package func addresses(
        of name: String, until deadline: ContinuousClock.Instant
    ) async throws -> [IPAddress]? {
        try await withThrowingTaskGroup(of: [IPAddress]?.self) { group in
            group.addTask { [names] in try await names.addresses(of: name) }
            group.addTask {
                try await self.sleep(until: deadline)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
