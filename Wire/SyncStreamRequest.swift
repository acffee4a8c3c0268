/// The body of `POST /sync/stream` (client-core 5.2, service 1.4).
package struct SyncStreamRequest: Sendable, Hashable {
    /// The buckets that the client holds, and how far.
    package var buckets: [BucketRequest]
    /// Always true in requests; the service ignores it.
    package var includeChecksum: Bool
    /// Whether the data of operations shall be JSON text in a string.
    package var rawData: Bool
    /// Always true in requests; the service ignores it.
    package var binaryData: Bool
    /// The client's id, half of the identity of its write checkpoints.
    package var clientID: String?
    /// The connection's parameters, an object.
    package var parameters: JSON?
    /// The subscriptions; absent means the default streams.
    package var streams: StreamSubscriptions?
    /// What the app says of itself, for the service's log.
    package var appMetadata: [JSONMember]?

    /// Makes a request of its fields.
    package init(
        buckets: [BucketRequest] = [], includeChecksum: Bool = true, rawData: Bool = true,
        binaryData: Bool = true,
        clientID: String? = nil, parameters: JSON? = nil, streams: StreamSubscriptions? = nil,
        appMetadata: [JSONMember]? = nil
    ) {
        self.buckets = buckets
        self.includeChecksum = includeChecksum
        self.rawData = rawData
        self.binaryData = binaryData
        self.clientID = clientID
        self.parameters = parameters
        self.streams = streams
        self.appMetadata = appMetadata
    }

    /// The request as a JSON object with its keys in the order of the official core.
    package var json: JSON {
        var members: [JSONMember] = [
            JSONMember(
                "buckets",
                .array(
                    buckets.map {
                        .object([
                            JSONMember("name", .string($0.name)),
                            JSONMember("after", .string(String($0.after))),
                        ])
                    })),
            JSONMember("include_checksum", .bool(includeChecksum)),
            JSONMember("raw_data", .bool(rawData)),
            JSONMember("binary_data", .bool(binaryData)),
        ]
        if let clientID { members.append(JSONMember("client_id", .string(clientID))) }
        members.append(JSONMember("parameters", parameters ?? .null))
        if let streams { members.append(JSONMember("streams", streams.json)) }
        if let appMetadata { members.append(JSONMember("app_metadata", .object(appMetadata))) }
        return .object(members)
    }
}

/// One bucket that the client holds.
package struct BucketRequest: Sendable, Hashable {
    /// The bucket's name.
    package var name: String
    /// The operation behind which the client wants to go on.
    package var after: OperationID

    /// Makes an entry of its fields.
    package init(name: String, after: OperationID) {
        self.name = name
        self.after = after
    }
}

/// The `streams` of a request.
package struct StreamSubscriptions: Sendable, Hashable {
    /// Whether streams with `auto_subscribe` are wanted too.
    package var includeDefaults: Bool
    /// The explicit subscriptions; the service refers to them by their index.
    package var subscriptions: [StreamSubscription]

    /// Makes subscriptions of their fields.
    package init(includeDefaults: Bool = true, subscriptions: [StreamSubscription] = []) {
        self.includeDefaults = includeDefaults
        self.subscriptions = subscriptions
    }

    /// The subscriptions as the JSON object of a request.
    package var json: JSON {
        .object([
            JSONMember("include_defaults", .bool(includeDefaults)),
            JSONMember("subscriptions", .array(subscriptions.map(\.json))),
        ])
    }
}

/// One explicit subscription.
package struct StreamSubscription: Sendable, Hashable {
    /// The stream's name.
    package var stream: String
    /// Its parameters, an object; nil is sent as `null`.
    package var parameters: JSON?
    /// A priority other than the stream's own.
    package var overridePriority: Int?

    /// Makes a subscription of its fields.
    package init(stream: String, parameters: JSON? = nil, overridePriority: Int? = nil) {
        self.stream = stream
        self.parameters = parameters
        self.overridePriority = overridePriority
    }

    fileprivate var json: JSON {
        .object([
            JSONMember("stream", .string(stream)), JSONMember("parameters", parameters ?? .null),
            JSONMember("override_priority", overridePriority.map { .integer($0) } ?? .null),
        ])
    }
}
