import PowerSyncWire

extension ExactText: CustomStringConvertible {
    /// The text.
    package var description: String { text }
}
