import PowerSync
import PowerSyncWire

/// A line that no client may take, one for each way to be bad.
struct BadLine: Sendable, CustomStringConvertible {
    /// What is wrong with it.
    let description: String
    let bytes: [UInt8]
    /// The code of the error, where it matters.
    let code: WireError.Code?

    /// The limit of the tests that read these lines.
    static let limit = 1 << 16

    private init(_ description: String, _ text: String, _ code: WireError.Code? = nil) {
        self.init(description, Array(text.utf8), code)
    }

    private init(_ description: String, _ bytes: [UInt8], _ code: WireError.Code? = nil) {
        self.description = description
        self.bytes = bytes
        self.code = code
    }

    /// A data line whose first operation is in order.
    private static func data(_ operation: String) -> String {
        SyncLines.data("b", SyncLines.put(2, "r2", checksum: 6), operation)
    }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    /// Whether `powersync_control` can be handed it: a text in UTF-8, whose size the caller answers for.
    var reachesSQL: Bool { bytes.count <= Self.limit && String(validating: bytes, as: UTF8.self) != nil }

    static let all: [BadLine] = [
        BadLine("no JSON", "{\"data\":", .malformedJSON),
        BadLine("no object", "[]"),
        BadLine("a field is missing", "{\"data\":{\"data\":[]}}", .invalidField),
        BadLine(
            "an operation lacks its checksum",
            data("{\"op_id\":\"3\",\"op\":\"PUT\",\"object_type\":\"items\",\"object_id\":\"r\"}"),
            .invalidField),
        BadLine("a field of another type", "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":\"b\"}}"),
        BadLine("an id as a number", data("{\"op_id\":3,\"op\":\"MOVE\",\"checksum\":1}")),
        BadLine(
            "an id above 64 bits",
            data("{\"op_id\":\"9223372036854775808\",\"op\":\"MOVE\",\"checksum\":1}"), .invalidField),
        BadLine(
            "a checksum above 32 bits", data(SyncLines.bare(3, "MOVE", checksum: 1 << 32)), .invalidField),
        BadLine("an unknown operation", data(SyncLines.bare(3, "PATCH", checksum: 1)), .invalidField),
        BadLine("nested 10,000 deep", "{\"new\":\(nested(10_000))}", .tooLarge),
        BadLine("nested 10,000 deep in a field", "{\"data\":{\"bucket\":\(nested(10_000)),\"data\":[]}}"),
        BadLine(
            "invalid UTF-8",
            Array("{\"data\":{\"bucket\":\"".utf8) + [0xC3, 0x28] + Array("\",\"data\":[]}}".utf8),
            .malformedJSON),
        BadLine(
            "a line over the limit", data(SyncLines.put(3, String(repeating: "x", count: limit))), .tooLarge),
        BadLine("a PUT without a type", data(putWithoutType)),
        BadLine("a PUT without an id", data(putWithoutID)),
    ]

    static let putWithoutType = """
        {"op_id":"3","op":"PUT","object_id":"r","checksum":1,"data":"{}"}
        """
    static let putWithoutID = """
        {"op_id":"3","op":"PUT","object_type":"items","object_id":null,"checksum":1}
        """
}
