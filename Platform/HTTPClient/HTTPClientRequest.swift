import PowerSyncHTTP
import PowerSyncSystem

/// A request to send.
package struct HTTPClientRequest: Sendable {
    /// The method, for example `POST`.
    package var method: String
    /// The address, http or https.
    package var url: String
    /// The header fields beside those that the client adds (host, content-length, accept).
    package var fields: HTTPFields
    /// The body; nil for none, and for one from a file.
    package var body: [UInt8]?
    /// The region of a file that is the body; it must not change until the exchange has ended.
    package var file: HTTPFileBody?
    /// Is told how many bytes of the body the connection has accepted: ten times a second at the most, and at the end.
    ///
    /// The number is smaller than the one before where the body is sent again, which happens when a connection that was kept
    /// turns out to be gone. Called on the client's thread, which it must not block.
    package var onSent: (@Sendable (Int64) -> Void)?
    /// How long looking up the name, connecting and the TLS handshake may take.
    package var connectTimeout: Duration
    /// How long the connection may neither accept nor bring a byte while the answer is read; time in which nobody
    /// asks for more of it does not count.
    package var idleTimeout: Duration
    /// How long the whole exchange may take; nil for no limit.
    package var totalTimeout: Duration?
    /// How long it may take from the moment at which the connection has accepted the whole request, or brought the head
    /// of the answer, to the end of the answer; nil for no limit.
    ///
    /// A large body on a slow line has all the time in which it gets on.
    package var answerTimeout: Duration?
    /// Addresses that are not connected to, whatever name they stand behind.
    ///
    /// With any of them no proxy is used, which would look the name up itself, and no connection that is kept from another
    /// request.
    package var rejectedAddresses = IPRanges()

    /// How many bytes the body has.
    var bodyLength: Int64 { file?.length ?? Int64(body?.count ?? 0) }

    /// Describes a request.
    package init(
        method: String = "GET", url: String, fields: HTTPFields = [:], body: [UInt8]? = nil,
        connectTimeout: Duration = .seconds(10), idleTimeout: Duration = .seconds(60),
        totalTimeout: Duration? = nil, answerTimeout: Duration? = nil
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.connectTimeout = connectTimeout
        self.idleTimeout = idleTimeout
        self.totalTimeout = totalTimeout
        self.answerTimeout = answerTimeout
    }
}

/// An answer with its whole body.
package struct HTTPClientResponse: Sendable {
    /// The status.
    package let status: Int
    /// The header fields.
    package let fields: HTTPFields
    /// The body.
    package let body: [UInt8]

    /// Creates an answer.
    package init(status: Int, fields: HTTPFields, body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
