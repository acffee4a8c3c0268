import PowerSyncSyncRules
import PowerSyncWire

/// A write checkpoint that a row sets (service 7.9).
package struct CustomWriteCheckpoint: Sendable, Hashable {
    /// Whose it is, as `WriteCheckpointKey` spells it.
    package let key: ExactText
    /// Its id, 1 or more.
    package let id: Int64

    /// Takes the values of a payload.
    ///
    /// - Parameters:
    ///   - user: Whose it is, as tokens name them.
    ///   - client: The device; NULL or empty for one that is not named.
    ///   - id: The id, a number or its digits.
    /// - Throws: `EvaluationError` if a value is none.
    package init(user: ScalarValue, client: ScalarValue, id: ScalarValue) throws(EvaluationError) {
        guard let name = try Self.name(user, "user_id"), !name.isEmpty else {
            throw EvaluationError(message: "user_id is NULL or empty.")
        }
        key = ExactText(WriteCheckpointKey.text(userID: name, clientID: try Self.name(client, "client_id")))
        let number: Int64? =
            switch id {
            case .integer(let integer): integer
            case .text(let digits): Int64(digits.text)
            case .real(let real): Int64(exactly: real)
            case .null, .blob, .wide: nil
            }
        guard let number, number >= 1 else {
            throw EvaluationError(message: "checkpoint is no number between 1 and \(Int64.max).")
        }
        self.id = number
    }

    private static func name(_ value: ScalarValue, _ column: String) throws(EvaluationError) -> String? {
        if case .blob = value { throw EvaluationError(message: "\(column) is no text.") }
        return value.textForm
    }
}
