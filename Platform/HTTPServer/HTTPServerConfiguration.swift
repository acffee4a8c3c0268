import PowerSyncHTTP

/// Where a server listens and what it puts up with.
package struct HTTPServerConfiguration: Sendable {
    /// The address to listen on: an IPv4 or IPv6 address, with or without brackets, or a name.
    package var host: String
    /// The port to listen on; 0 for any free one.
    package var port: Int
    /// What the server is called in error messages.
    package var name: String
    /// How long the head of a request may take from its first byte, and the first byte from the connection.
    package var headerTimeout: Duration
    /// How long a body may take, on top of the time that its bytes take at `bodyBytesPerSecond`.
    package var bodyTimeout: Duration
    /// The slowest pace at which a body may keep coming.
    package var bodyBytesPerSecond: Int
    /// How long a connection may rest between two requests.
    package var idleTimeout: Duration
    /// How long a request may still be worked on when its client has hung up, or says that it will send no more.
    package var hangUpTimeout: Duration
    /// How long a client may take less than `writeMinimum` of an answer while more of it waits.
    package var writeTimeout: Duration
    /// The bytes that a client must take in each `writeTimeout`.
    package var writeMinimum: Int
    /// How long nothing may be heard of a client, not even by its system, before its connection ends.
    ///
    /// On Linux also how long a client that is heard of may take nothing of what was sent to it.
    package var peerTimeout: Duration
    /// The most memory that the system may use for what a client has yet to take.
    package var sendBufferBytes: Int
    /// The most connections, within what the system allows.
    ///
    /// For one more, that is closed which has waited longest for a request; if none does, the new one is answered
    /// with 503.
    package var maxConnections: Int
    /// The descriptors that are left to everything else in the program: libdispatch ends it when it gets none.
    ///
    /// One server knows nothing of another's: its connections, and 32 that are leaving, belong to what is
    /// left.
    package var reservedDescriptors: Int
    /// The most bytes of header fields.
    package var maxHeaderBytes: Int
    /// The longest target.
    package var maxTargetBytes: Int
    /// The most bytes of all bodies that are being read or worked on; what is beyond is refused with 503, but for
    /// the first 16 KiB of each body.
    package var maxHeldBodyBytes: Int
    /// Fields of the answers that the server gives by itself, such as those to a head that is too long.
    package var ownAnswerFields: HTTPFields

    /// Creates a configuration; each value has a default that suits a server behind nothing.
    package init(
        host: String = "127.0.0.1", port: Int = 0, name: String = "the server",
        headerTimeout: Duration = .seconds(10), bodyTimeout: Duration = .seconds(30),
        bodyBytesPerSecond: Int = 16 << 10, idleTimeout: Duration = .seconds(75),
        hangUpTimeout: Duration = .seconds(1),
        writeTimeout: Duration = .seconds(30), writeMinimum: Int = 64 << 10,
        peerTimeout: Duration = .seconds(60), sendBufferBytes: Int = 256 << 10, maxConnections: Int = 10_000,
        reservedDescriptors: Int = 64,
        maxHeaderBytes: Int = 16 << 10, maxTargetBytes: Int = 8 << 10, maxHeldBodyBytes: Int = 64 << 20,
        ownAnswerFields: HTTPFields = [:]
    ) {
        self.host = host
        self.port = port
        self.name = name
        self.headerTimeout = headerTimeout
        self.bodyTimeout = bodyTimeout
        self.bodyBytesPerSecond = bodyBytesPerSecond
        self.idleTimeout = idleTimeout
        self.hangUpTimeout = hangUpTimeout
        self.writeTimeout = writeTimeout
        self.writeMinimum = writeMinimum
        self.peerTimeout = peerTimeout
        self.sendBufferBytes = sendBufferBytes
        self.maxConnections = maxConnections
        self.reservedDescriptors = reservedDescriptors
        self.maxHeaderBytes = maxHeaderBytes
        self.maxTargetBytes = maxTargetBytes
        self.maxHeldBodyBytes = maxHeldBodyBytes
        self.ownAnswerFields = ownAnswerFields
    }

    var limits: HTTPLimits { HTTPLimits(targetBytes: maxTargetBytes, fieldBytes: maxHeaderBytes) }
}
