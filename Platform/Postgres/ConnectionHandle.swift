import CPowerSyncPQ
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Owns one `PGconn` and the readiness of its socket; the bridge to libpq's functions for connections.
///
/// Safe because one task has it while it connects, and then one `PostgresConnection`, an actor, makes every call.
/// Nothing here waits.
final class ConnectionHandle: @unchecked Sendable {
    private let connection: OpaquePointer
    private var channel: Channel?
    private(set) var isFinished = false
    /// Whether TLS may hold bytes that it has taken from the socket and libpq has not taken from it.
    ///
    /// A record has up to 16 KiB, of which libpq takes what it has room for, at least the half. The rest does not show on
    /// the socket: libpq has to be asked once more before the socket is waited for.
    private(set) var mayHoldInput = false

    /// Takes over a connection that was started, complete or not.
    init(_ connection: OpaquePointer) {
        self.connection = connection
        // Without it notices are printed to standard error.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit {
        finish()
    }

    /// Closes the connection; the server ends its session, after the statement that may be running.
    func finish() {
        guard !isFinished else { return }
        isFinished = true
        unwatch()
        PQfinish(connection)
    }

    /// Where the server is said to be, in words.
    var place: String {
        let host = PQhost(connection).map { String(cString: $0) } ?? ""
        let port = PQport(connection).map { String(cString: $0) } ?? ""
        return "Postgres at \"\(host)\"" + (port.isEmpty ? "" : ", port \(port),")
    }

    var isFine: Bool { !isFinished && PQstatus(connection) == CONNECTION_OK }
    var message: String { isFinished ? "the connection is closed" : oneLine(PQerrorMessage(connection)) }
    /// What a keyword of libpq was when connecting, whoever set it: the text, the environment, a service file.
    func option(_ keyword: String) -> String? {
        guard !isFinished, let options = PQconninfo(connection) else { return nil }
        defer { PQconninfoFree(options) }
        var option = options
        while let name = option.pointee.keyword {
            if String(cString: name) == keyword { return option.pointee.val.map { String(cString: $0) } }
            option += 1
        }
        return nil
    }

    var serverVersion: Int { isFinished ? 0 : Int(PQserverVersion(connection)) }
    var backendProcessID: Int32 { isFinished ? 0 : PQbackendPID(connection) }
    var transactionStatus: PGTransactionStatusType {
        isFinished ? PQTRANS_UNKNOWN : PQtransactionStatus(connection)
    }

    /// The error of a connection that stopped working.
    func lost() -> PostgresError {
        isFinished
            ? PostgresError(.closed, "the connection is closed") : PostgresError(.connectionLost, message)
    }

    // MARK: Connecting

    /// False when the parameters were refused or no address was found.
    var hasStarted: Bool { PQstatus(connection) != CONNECTION_BAD }

    /// One step of connecting; the socket may be another one after it.
    func connectPoll() -> PostgresPollingStatusType {
        unwatch()
        return PQconnectPoll(connection)
    }

    /// Asks for the socket's readiness, which lasts until the next `connectPoll`.
    func watch(_ poller: Poller) throws(PostgresError) {
        do {
            channel = try poller.channel(PQsocket(connection))
        } catch {
            throw PostgresError(.unavailable, "the connection's socket cannot be watched: \(error)")
        }
    }

    private func unwatch() {
        channel?.deregister()
        channel = nil
    }

    /// While connecting, errors carry their SQLSTATE in the text, which is the only place libpq has for it.
    func setVerboseErrors(_ isVerbose: Bool) {
        PQsetErrorVerbosity(connection, isVerbose ? PQERRORS_VERBOSE : PQERRORS_DEFAULT)
    }

    /// From here on no call waits for the socket.
    func setNonBlocking() throws(PostgresError) {
        guard PQsetnonblocking(connection, 1) == 0 else { throw lost() }
    }

    // MARK: The socket

    /// The readiness to wait for; nil while connecting, after a loss and after the end.
    var readiness: Channel? { channel }

    /// Whether the socket has bytes, or its end, to read at this moment.
    ///
    /// libpq does not always read all there is, so this is asked before an edge of readiness is awaited.
    var isReadable: Bool { isReady(Int16(POLLIN)) }

    /// Whether the socket takes bytes at this moment.
    var isWritable: Bool { isReady(Int16(POLLOUT)) }

    private func isReady(_ events: Int16) -> Bool {
        // Without a socket nothing comes any more, and the next call says so at once.
        guard !isFinished, PQsocket(connection) >= 0 else { return true }
        var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        return poll(&descriptor, 1, 0) != 0
    }

    private var isEncrypted: Bool { PQsslInUse(connection) == 1 || PQgssEncInUse(connection) == 1 }

    /// Takes what the socket has, or what TLS still holds; false when the connection is gone.
    func consumeInput() -> Bool {
        guard !isFinished else { return false }
        // What the socket has may be a record; without one it is the rest of the last that is taken.
        mayHoldInput = isEncrypted && isReadable
        if PQconsumeInput(connection) == 1 { return true }
        // libpq closes the socket when it reads its end: another task that waits for it would wait for ever.
        if PQsocket(connection) < 0 { unwatch() }
        return false
    }

    /// True when everything was sent; false if the socket is full.
    func flush() throws(PostgresError) -> Bool {
        guard !isFinished else { throw lost() }
        switch PQflush(connection) {
        case 0: return true
        case 1:
            // libpq reads, too, while it cannot write.
            mayHoldInput = isEncrypted
            return false
        default: throw lost()
        }
    }

    // MARK: Statements

    func send(_ sql: String) throws(PostgresError) {
        try sent(isFinished ? 0 : PQsendQuery(connection, sql))
    }

    func send(_ sql: String, _ parameters: PostgresParameters) throws(PostgresError) {
        guard !isFinished else { throw lost() }
        try sent(
            parameters.withPointers { values in
                PQsendQueryParams(
                    connection, sql, Int32(values.count), nil, values.baseAddress, nil, nil, 0)
            })
    }

    /// Has the server parse a statement and keep it under a name.
    func prepare(_ name: String, _ sql: String) throws(PostgresError) {
        try sent(isFinished ? 0 : PQsendPrepare(connection, name, sql, 0, nil))
    }

    /// Runs what was prepared under a name.
    func send(prepared name: String, _ parameters: PostgresParameters) throws(PostgresError) {
        guard !isFinished else { throw lost() }
        try sent(
            parameters.withPointers { values in
                PQsendQueryPrepared(
                    connection, name, Int32(values.count), values.baseAddress, nil, nil, 0)
            })
    }

    private func sent(_ status: Int32) throws(PostgresError) {
        guard status == 0 else {
            mayHoldInput = isEncrypted
            return
        }
        guard isFine else { throw lost() }
        throw PostgresError(.invalidInput, message)
    }

    var isBusy: Bool { !isFinished && PQisBusy(connection) == 1 }

    /// The next result, nil at the end of a statement; only when `isBusy` is false, else it would wait.
    func nextResult() -> ResultHandle? {
        isFinished ? nil : PQgetResult(connection).map(ResultHandle.init)
    }

    func enterPipeline() -> Bool { !isFinished && PQenterPipelineMode(connection) == 1 }
    func exitPipeline() -> Bool { !isFinished && PQexitPipelineMode(connection) == 1 }
    func sync() -> Bool { !isFinished && PQpipelineSync(connection) == 1 }

    // MARK: Notifications

    /// Takes out the notifications that have arrived since the last call.
    func takeNotifications() -> [PostgresNotification] {
        guard !isFinished else { return [] }
        var taken: [PostgresNotification] = []
        while let notification = PQnotifies(connection) {
            defer { PQfreemem(notification) }
            taken.append(PostgresNotification(notification.pointee))
        }
        return taken
    }

    // MARK: COPY

    /// What a COPY to us comes to next: a piece, in the form that its reader wants, a wait for more, or the end.
    enum CopyStep<Piece> {
        case data(Piece)
        case wait
        case end
    }

    func nextCopyData() throws(PostgresError) -> CopyStep<[UInt8]> { try nextPiece { [UInt8]($0) } }

    /// Appends the next piece of a COPY.
    func takeCopyData(into frames: inout PostgresFrames) throws(PostgresError) -> CopyStep<Void> {
        try nextPiece { frames.append($0) }
    }

    /// Lends the next piece of a COPY, which libpq has in memory of its own until then.
    private func nextPiece<Piece>(
        _ take: (UnsafeRawBufferPointer) -> Piece
    ) throws(PostgresError) -> CopyStep<Piece> {
        guard !isFinished else { throw lost() }
        var buffer: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(connection, &buffer, 1)
        defer { PQfreemem(buffer) }
        switch count {
        case 0: return .wait
        case -1, -2: return .end
        default:
            guard let buffer else { return .wait }
            return .data(take(UnsafeRawBufferPointer(start: buffer, count: Int(count))))
        }
    }

    /// False when it has to be tried again once the socket takes more.
    func putCopyData(_ bytes: [UInt8]) throws(PostgresError) -> Bool {
        guard !isFinished else { throw lost() }
        let status = bytes.withUnsafeBytes { raw in
            PQputCopyData(connection, raw.assumingMemoryBound(to: CChar.self).baseAddress, Int32(raw.count))
        }
        guard status >= 0 else { throw lost() }
        return status == 1
    }

    /// Ends a COPY from us that nobody wants, so that the server answers with an error.
    func refuseCopy() -> Bool {
        !isFinished && PQputCopyEnd(connection, "no data") == 1
    }

    /// What is needed to stop the running statement; nil when there is no connection.
    func cancelRequest() -> CancelRequest? {
        isFinished ? nil : PQgetCancel(connection).map(CancelRequest.init)
    }
}
