/// The number of an operation: global, strictly increasing, 63 bits (service 0).
package typealias OperationID = Int64

/// One line of a sync stream: a JSON object with one key (client-core 5.3, service 3.1).
package enum SyncLine: Sendable, Hashable {
    /// The whole list of buckets that the client shall hold.
    case checkpoint(Checkpoint)
    /// What changed since the last `checkpoint` or `checkpoint_diff` of the connection.
    case checkpointDiff(CheckpointDiff)
    /// Operations of one bucket.
    case data(DataLine)
    /// All data of the last checkpoint has been sent.
    case checkpointComplete(lastOpID: OperationID?)
    /// All data of the last checkpoint up to this priority has been sent.
    case partialCheckpointComplete(lastOpID: OperationID?, priority: Int)
    /// A keepalive: whole seconds until the token expires.
    case tokenExpiresIn(Int)
    /// A line of a later protocol; readers skip it.
    case unknown(key: String)
}

/// The payload of a `checkpoint` line.
package struct Checkpoint: Sendable, Hashable {
    /// The operation up to which the service knows everything.
    package var lastOpID: OperationID
    /// The newest write checkpoint of this client that the checkpoint includes.
    package var writeCheckpoint: Int64?
    /// The buckets of the client.
    package var buckets: [BucketChecksum]
    /// The streams that the buckets come from.
    package var streams: [StreamDescription]

    /// Makes a checkpoint of its fields.
    package init(
        lastOpID: OperationID, writeCheckpoint: Int64? = nil, buckets: [BucketChecksum],
        streams: [StreamDescription] = []
    ) {
        self.lastOpID = lastOpID
        self.writeCheckpoint = writeCheckpoint
        self.buckets = buckets
        self.streams = streams
    }
}

/// The payload of a `checkpoint_diff` line.
package struct CheckpointDiff: Sendable, Hashable {
    /// The operation up to which the service knows everything.
    package var lastOpID: OperationID
    /// The newest write checkpoint of this client that the checkpoint includes; absent means none.
    package var writeCheckpoint: Int64?
    /// Buckets that are new or have other operations than before.
    package var updatedBuckets: [BucketChecksum]
    /// Names of buckets that the client shall drop.
    package var removedBuckets: [String]

    /// Makes a diff of its fields.
    package init(
        lastOpID: OperationID, writeCheckpoint: Int64? = nil, updatedBuckets: [BucketChecksum],
        removedBuckets: [String]
    ) {
        self.lastOpID = lastOpID
        self.writeCheckpoint = writeCheckpoint
        self.updatedBuckets = updatedBuckets
        self.removedBuckets = removedBuckets
    }
}

/// A bucket as a checkpoint names it.
package struct BucketChecksum: Sendable, Hashable {
    /// The name, opaque to clients.
    package var bucket: String
    /// The sum of the checksums of all its operations.
    package var checksum: Checksum
    /// 0 is the most urgent; absent means 3.
    package var priority: Int?
    /// How many operations it holds.
    package var count: Int64?
    /// The subscriptions that the bucket is listed for.
    package var subscriptions: [SubscriptionReason]

    /// Makes an entry of its fields.
    package init(
        bucket: String, checksum: Checksum, priority: Int? = nil, count: Int64? = nil,
        subscriptions: [SubscriptionReason] = []
    ) {
        self.bucket = bucket
        self.checksum = checksum
        self.priority = priority
        self.count = count
        self.subscriptions = subscriptions
    }
}

/// Why a bucket is listed.
package enum SubscriptionReason: Sendable, Hashable {
    /// An index into the streams of the connection's first checkpoint.
    case defaultStream(Int)
    /// An index into the subscriptions of the request.
    case subscription(Int)
}

/// A stream as a checkpoint names it.
package struct StreamDescription: Sendable, Hashable {
    /// The name in the sync configuration.
    package var name: String
    /// Whether clients get it without asking.
    package var isDefault: Bool
    /// What went wrong in resolving subscriptions to it.
    package var errors: [StreamError]

    /// Makes a description of its fields.
    package init(name: String, isDefault: Bool, errors: [StreamError] = []) {
        self.name = name
        self.isDefault = isDefault
        self.errors = errors
    }
}

/// One subscription that the service could not resolve.
package struct StreamError: Sendable, Hashable {
    /// The index of the subscription in the request; nil for the default subscription.
    package var subscription: Int?
    /// The service's words.
    package var message: String

    /// Makes an error of its fields.
    package init(subscription: Int?, message: String) {
        self.subscription = subscription
        self.message = message
    }
}

/// The payload of a `data` line.
package struct DataLine: Sendable, Hashable {
    /// The bucket that all operations belong to.
    package var bucket: String
    /// The position behind which the line begins.
    package var after: OperationID?
    /// The last operation of the line.
    package var nextAfter: OperationID?
    /// A hint that more lines of the bucket follow.
    package var hasMore: Bool
    /// The operations, ascending by id.
    package var operations: OperationList

    /// Makes a line of its fields.
    package init(
        bucket: String, after: OperationID? = nil, nextAfter: OperationID? = nil, hasMore: Bool = false,
        operations: OperationList
    ) {
        self.bucket = bucket
        self.after = after
        self.nextAfter = nextAfter
        self.hasMore = hasMore
        self.operations = operations
    }
}

/// One operation of a bucket (service 4.1).
package struct Operation: Sendable, Hashable {
    /// What an operation does.
    package enum Kind: String, Sendable {
        /// Sets a row, replacing the one of the same key.
        case put = "PUT"
        /// Removes the row of that key.
        case remove = "REMOVE"
        /// Stands where a superseded operation was; only its checksum counts.
        case move = "MOVE"
        /// Drops everything before it in the bucket.
        case clear = "CLEAR"
    }

    /// Its number.
    package var id: OperationID
    /// What it does.
    package var kind: Kind
    /// The name of the table on the client.
    package var objectType: String?
    /// The id of the row.
    package var objectID: String?
    /// Tells rows of one type and id apart that come from different source rows.
    package var subkey: String?
    /// Its share of the bucket's checksum.
    package var checksum: Checksum
    /// The row as JSON text, exactly as the service stores it.
    package var data: String?

    /// Makes an operation of its fields.
    package init(
        id: OperationID, kind: Kind, objectType: String? = nil, objectID: String? = nil,
        subkey: String? = nil,
        checksum: Checksum, data: String? = nil
    ) {
        self.id = id
        self.kind = kind
        self.objectType = objectType
        self.objectID = objectID
        self.subkey = subkey
        self.checksum = checksum
        self.data = data
    }
}
