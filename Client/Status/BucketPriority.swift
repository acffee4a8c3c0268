/// How urgent the data of a bucket is: a lower code comes earlier.
///
/// The order is that of urgency, so `BucketPriority(0) > BucketPriority(3)`.
public struct BucketPriority: Comparable, Sendable, Codable {
    /// The number of the priority, 0 being the most urgent.
    public let priorityCode: Int32

    /// Creates a priority; the code must not be negative.
    public init(_ priorityCode: Int32) {
        precondition(priorityCode >= 0, "A priority code must not be negative")
        self.priorityCode = priorityCode
    }

    /// The pseudo-priority of everything: reached when the whole checkpoint is.
    public static let fullSyncPriority = BucketPriority(Int32.max)
    /// The priority of buckets that name none.
    public static let defaultPriority = BucketPriority(3)

    /// Decodes the priority's number; a negative one is a decoding error.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let code = try container.decode(Int32.self)
        guard code >= 0 else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "A priority code must not be negative")
        }
        priorityCode = code
    }

    /// Encodes the priority's number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(priorityCode)
    }

    /// Whether the left priority is less urgent than the right one.
    public static func < (left: BucketPriority, right: BucketPriority) -> Bool {
        left.priorityCode > right.priorityCode
    }
}
