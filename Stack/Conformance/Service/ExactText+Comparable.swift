import PowerSyncWire

/// The order of the bytes, so that what is told has one order.
extension ExactText: Comparable {
    /// Whether the bytes of one come before those of the other.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

extension ExactText: CustomStringConvertible {
    /// The text.
    package var description: String { text }
}
