import PowerSyncWire

/// One point in which a replay differs from the recording.
package struct TranscriptDifference: Sendable, Hashable, CustomStringConvertible {
    /// The number of the step, from 0.
    package let step: Int
    /// What is done there.
    package let action: String
    /// What differs: `instructions`, `error`, or the name of a table.
    package let subject: String
    /// What differs in detail: lines that begin with `-` were recorded, those with `+` replayed.
    package let lines: [String]

    /// Makes a difference of its parts.
    package init(step: Int, action: String, subject: String, lines: [String]) {
        self.step = step
        self.action = action
        self.subject = subject
        self.lines = lines
    }

    /// Some lines for people: the step and the subject, then what differs.
    package var description: String {
        (["step \(step) (\(action)): \(subject)"] + lines.map { "    " + $0 }).joined(separator: "\n")
    }
}
