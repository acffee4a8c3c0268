import PowerSyncHTTP

/// The body of a request that is there already, for handlers that are called without a server; it is read in one way, as
/// that of a connection.
package actor StoredBody: HTTPRequestBody {
    /// How many bytes it has, if that is known before.
    package nonisolated let length: Int64?
    private var left: ArraySlice<UInt8>
    private var isClaimed = false
    private var isInPieces = false

    /// Makes a body of its bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - isAnnounced: Whether its length is known before, as it is not of one in chunks.
    package init(_ bytes: [UInt8], isAnnounced: Bool = true) {
        length = isAnnounced ? Int64(bytes.count) : nil
        left = bytes[...]
    }

    /// Returns the next bytes.
    package func next(limit: Int) async throws(HTTPError) -> [UInt8]? {
        if !isInPieces { try claim() }
        isInPieces = true
        guard !left.isEmpty else { return nil }
        defer { left = left.dropFirst(limit) }
        return Array(left.prefix(limit))
    }

    /// Returns all bytes.
    package func collect(limit: Int) async throws(HTTPError) -> [UInt8] {
        try claim()
        guard left.count <= limit else { throw HTTPError(.bodyTooLarge, "longer than \(limit) bytes") }
        return Array(left)
    }

    private func claim() throws(HTTPError) {
        if isClaimed { throw HTTPError(.alreadyRead, "asked for before") }
        isClaimed = true
    }
}

/// What an answer writes that is written piece by piece.
private actor StoredAnswer: HTTPBodyWriter {
    private(set) var bytes: [UInt8] = []

    func write(_ bytes: [UInt8]) { self.bytes += bytes }

    nonisolated func beginChunk(of count: Int) {}
}

extension HTTPResponseBody {
    /// A body that had not as many bytes as it was announced with.
    package struct WrongCount: Error {
        /// How many there were.
        package let written: Int
    }

    /// Returns all bytes, also of a body that is written piece by piece.
    ///
    /// - Returns: The bytes.
    /// - Throws: What writing throws, and `WrongCount`.
    package func collected() async throws -> [UInt8] {
        if case .bytes(let bytes) = self { return bytes }
        guard let write else { return [] }
        let answer = StoredAnswer()
        try await write(answer)
        let bytes = await answer.bytes
        if case .sized(let length, _) = self, length != bytes.count { throw WrongCount(written: bytes.count) }
        return bytes
    }
}
