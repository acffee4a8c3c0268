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
    /// The slowest pace at which a body may keep coming; `.max` gives it no more time than `bodyTimeout`.
    package var bodyBytesPerSecond: Int
    /// The bytes a second that a body must bring once `bodyGrace` is over; 0 asks for none.
    ///
    /// Of one that announces its length more is asked: as many as it takes to end in time.
    package var bodyMinimumPerSecond: Int
    /// How long a body may take to come up to its pace.
    package var bodyGrace: Duration
    /// How long a body is held back while there is no room for it, before it is refused with 503.
    ///
    /// Nothing is read from its connection then, so its sender waits; the time is none that it takes. It is that of all
    /// its waits together; of a body that is handed over piece by piece each piece may wait for as long.
    package var bodyWait: Duration
    /// How long a connection may rest between two requests.
    package var idleTimeout: Duration
    /// How long a request may still be worked on when its client has hung up, or says that it will send no more.
    package var hangUpTimeout: Duration
    /// How long what a client still sends is read and dropped behind its last answer; a fifth of it while nothing comes.
    ///
    /// Closed at once, the system would throw away the answer that the client has not read yet.
    package var lingerTimeout: Duration
    /// How long a client may take less than `writeMinimum` of an answer while more of it waits.
    package var writeTimeout: Duration
    /// The bytes that a client must take in each `writeTimeout`.
    package var writeMinimum: Int
    /// How long nothing may be heard of a client, not even by its system, before its connection ends.
    ///
    /// On Linux also how long a client that is heard of may take nothing of what was sent to it.
    package var peerTimeout: Duration
    /// The bytes a second that a client must take of an answer that is there as a whole, over each `writeTimeout`; of one
    /// that is no longer than that it must take all.
    package var writeBytesPerSecond: Int
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
    /// The most bytes of all bodies that are being read or worked on.
    ///
    /// The first 16 KiB of each do not count. For more, room is taken 64 KiB at a time as the bytes come, whatever is
    /// announced; a body that finds none waits for `bodyWait`. The oldest body finds room always, so that there may be
    /// more by one body. One that is handed over piece by piece has room for a piece while that is read.
    package var maxHeldBodyBytes: Int
    /// Writes the answers that the server gives by itself, of a status and one sentence; nil: plain text.
    package var ownAnswer: (@Sendable (Int, String) -> HTTPResponse)?
    /// Fields of the answers that the server gives by itself, such as those to a head that is too long.
    package var ownAnswerFields: HTTPFields

    /// Creates a configuration; each value has a default that suits a server behind nothing.
    package init(
        host: String = "127.0.0.1", port: Int = 0, name: String = "the server",
        headerTimeout: Duration = .seconds(10), bodyTimeout: Duration = .seconds(30),
        bodyBytesPerSecond: Int = 16 << 10, bodyMinimumPerSecond: Int = 0, bodyGrace: Duration = .seconds(5),
        bodyWait: Duration = .zero, idleTimeout: Duration = .seconds(75),
        hangUpTimeout: Duration = .seconds(1), lingerTimeout: Duration = .seconds(10),
        writeTimeout: Duration = .seconds(30), writeMinimum: Int = 64 << 10,
        writeBytesPerSecond: Int = 64 << 10,
        peerTimeout: Duration = .seconds(60), sendBufferBytes: Int = 256 << 10, maxConnections: Int = 10_000,
        reservedDescriptors: Int = 64,
        maxHeaderBytes: Int = 16 << 10, maxTargetBytes: Int = 8 << 10, maxHeldBodyBytes: Int = 64 << 20,
        ownAnswer: (@Sendable (Int, String) -> HTTPResponse)? = nil, ownAnswerFields: HTTPFields = [:]
    ) {
        self.host = host
        self.port = port
        self.name = name
        self.headerTimeout = headerTimeout
        self.bodyTimeout = bodyTimeout
        self.bodyBytesPerSecond = bodyBytesPerSecond
        self.bodyMinimumPerSecond = bodyMinimumPerSecond
        self.bodyGrace = bodyGrace
        self.bodyWait = bodyWait
        self.idleTimeout = idleTimeout
        self.hangUpTimeout = hangUpTimeout
        self.lingerTimeout = lingerTimeout
        self.writeTimeout = writeTimeout
        self.writeMinimum = writeMinimum
        self.writeBytesPerSecond = writeBytesPerSecond
        self.peerTimeout = peerTimeout
        self.sendBufferBytes = sendBufferBytes
        self.maxConnections = maxConnections
        self.reservedDescriptors = reservedDescriptors
        self.maxHeaderBytes = maxHeaderBytes
        self.maxTargetBytes = maxTargetBytes
        self.maxHeldBodyBytes = maxHeldBodyBytes
        self.ownAnswer = ownAnswer
        self.ownAnswerFields = ownAnswerFields
    }

    var limits: HTTPLimits { HTTPLimits(targetBytes: maxTargetBytes, fieldBytes: maxHeaderBytes) }
}
