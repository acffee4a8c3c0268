import PowerSyncHTTP
import PowerSyncWire

/// What a backend has answered.
package struct ContractAnswer: Sendable {
    /// The status; 0 where the connection ended instead.
    package let status: Int
    /// The fields of the head.
    package let fields: HTTPFields
    /// The body as it came.
    package let body: [UInt8]
    /// How long it took.
    package let time: Duration

    /// The body as JSON; nil if it is none.
    package var json: JSON? {
        // Not an error: cases say where the body must be JSON.
        try? JSON.parse(body)
    }

    /// What became of each transaction.
    package var results: [String] {
        (json?["results"]?.arrayValue ?? []).compactMap { $0["status"]?.stringValue }
    }

    /// What became of each operation: its state, and its code behind it where there is one.
    package var outcomes: [String] {
        (json?["results"]?.arrayValue ?? []).flatMap { result in
            (result["ops"]?.arrayValue ?? []).map { operation in
                let state = operation["status"]?.stringValue ?? "?"
                return operation["code"]?.stringValue.map { state + " " + $0 } ?? state
            }
        }
    }

    /// The codes of the transactions that were rejected.
    package var errorCodes: [String] {
        (json?["results"]?.arrayValue ?? []).compactMap { $0["failed_operation"]?["error_code"]?.stringValue }
    }

    /// The answer as one text, for what must stand nowhere in it.
    var wholeText: String {
        fields.map { $0.name + ": " + $0.value }.joined(separator: "\n") + "\n"
            + String(decoding: body, as: UTF8.self)
    }
}
