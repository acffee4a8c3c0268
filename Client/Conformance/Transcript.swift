import PowerSyncWire

/// A recorded session of the official core: steps, and what each must answer.
package struct Transcript: Sendable {
    /// One step.
    package struct Step: Sendable {
        /// What is done; the names are those of the recordings.
        package let action: String
        /// All fields of the step.
        package let fields: JSON

        /// What the step must answer; nil if that was not recorded.
        package var expected: JSON? { fields["expect"] }
        /// Whether the step must fail.
        package var expectsError: Bool { fields["expect_error"]?.boolValue ?? false }
        /// The content of the tables after the step; nil if that was not recorded.
        package var dump: JSON? { fields["dump"] }
    }

    /// The situation.
    package let name: String
    /// The id of the client, stored before the first step.
    package let clientID: String
    /// The steps in order.
    package let steps: [Step]

    /// Reads a recording.
    ///
    /// - Throws: `WireError` for a text that is no recording.
    package init(parsing text: [UInt8]) throws(WireError) {
        let json = try JSON.parse(text)
        guard let name = json["name"]?.stringValue, let clientID = json["client_id"]?.stringValue,
            let steps = json["steps"]?.arrayValue
        else {
            throw WireError(.invalidField, "a transcript needs name, client_id and steps")
        }
        self.name = name
        self.clientID = clientID
        self.steps = try steps.map { step throws(WireError) in
            guard let action = step["do"]?.stringValue else {
                throw WireError(.invalidField, "a step needs a name")
            }
            return Step(action: action, fields: step)
        }
    }
}

/// One point in which a replay differs from the recording.
package struct TranscriptDifference: Sendable, Hashable, CustomStringConvertible {
    /// The number of the step, from 0.
    package let step: Int
    /// What is done there.
    package let action: String
    /// What differs: `instructions`, `error`, `rows`, or the name of a table.
    package let subject: String
    /// What was recorded.
    package let expected: String
    /// What the replay gave.
    package let actual: String

    /// One line for people.
    package var description: String {
        "step \(step) (\(action)), \(subject):\n  recorded \(expected)\n  replayed \(actual)"
    }
}
