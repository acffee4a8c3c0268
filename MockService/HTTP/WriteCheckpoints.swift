import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncWire

/// Takes write checkpoints: where the log is now, an id for it, and a message that moves the log past it
/// (service 1.8).
struct WriteCheckpoints: Sendable {
    private let store: ServiceStore
    private let publisher: Publisher
    private let clock: ServiceClock
    /// How many clients a user may have.
    private let clients: Int
    private let heads: SharedCall<LSN>
    private let markers: SharedCall<Void>

    /// Makes write checkpoints of a source and a state.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - callsAtOnce: Calls of each kind that are under way: as many as it has connections for requests.
    ///   - store: The state.
    ///   - publisher: Knows the newest checkpoint, and tells streams of ids that are reached.
    ///   - clock: The service's.
    ///   - clients: How many clients a user may have.
    init(
        source: any ChangeSource, callsAtOnce: Int, store: ServiceStore, publisher: Publisher,
        clock: ServiceClock, clients: Int
    ) {
        self.store = store
        self.publisher = publisher
        self.clock = clock
        self.clients = clients
        heads = SharedCall(limit: callsAtOnce) { try await source.head() }
        markers = SharedCall(limit: callsAtOnce) { try await source.mark() }
    }

    /// Ends what is under way; later calls throw `CancellationError`.
    func close() async {
        await heads.close()
        await markers.close()
    }

    /// Takes the next id, or the one that the client names.
    ///
    /// - Parameters:
    ///   - key: Whose checkpoint it is.
    ///   - requested: The id that the client wants.
    /// - Returns: The id that is stored now.
    /// - Throws: What the source throws if it is away, `TooManyClients`.
    func take(key: String, requested: Int64?) async throws -> Int64 {
        // The head comes first: what the client wrote before its request lies before it.
        let head = try await heads.value()
        let published = publisher.current?.checkpoint.lsn ?? .zero
        let stored =
            if let requested {
                try await store.requestWriteCheckpoint(
                    key: key, requested: requested, head: head, published: published, clients: clients,
                    at: clock.now())
            } else {
                try await store.nextWriteCheckpoint(
                    key: key, head: head, published: published, clients: clients)
            }
        publisher.expect(stored.id, of: ExactText(key), at: stored.head)
        // Behind the id: the checkpoint that the marker brings about is to find it.
        try await markers.value()
        return stored.id
    }

    /// Deletes ids that clients named longer ago than is kept.
    ///
    /// - Parameter retention: How long they are kept.
    /// - Returns: How many there were.
    /// - Throws: `SQLiteError`.
    func purge(keeping retention: Duration) async throws -> Int64 {
        guard let published = publisher.current?.checkpoint.lsn else { return 0 }
        return try await store.removeWriteCheckpoints(
            requestedBefore: clock.now() - retention / .seconds(1), published: published)
    }

    /// Reads the id of a checkpoint request: a decimal text or a whole number.
    ///
    /// - Parameter value: The value of `checkpoint_request_id`.
    /// - Returns: The id.
    /// - Throws: `RequestViolations` as the real service words them.
    static func requestedID(_ value: JSON?) throws(RequestViolations) -> Int64 {
        guard let value else {
            throw RequestViolations(messages: [" must have required property 'checkpoint_request_id'"])
        }
        let text: String
        switch value {
        case .string(let string):
            let digits = string.hasPrefix("-") ? string.dropFirst() : string[...]
            guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
                throw RequestViolations(messages: [
                    "/checkpoint_request_id: must match pattern \"^-?[0-9]+$\""
                ])
            }
            text = string
        case .number(let lexeme) where Double(lexeme).map { abs($0) <= 0x1p53 - 1 } == true: text = lexeme
        default: throw RequestViolations(messages: ["/checkpoint_request_id: type must be string"])
        }
        guard let id = Int64(text), id >= 1 else {
            throw RequestViolations(
                messages: ["Expected checkpoint_request_id between 1 and 9223372036854775807"])
        }
        return id
    }
}
