import PowerSyncWire

/// The name of a bucket without the number of its replication stream (service 5).
package struct BucketLabel: Hashable, Sendable {
    /// The number in front of `#`; nil for a name without one.
    package let number: Int?
    /// The name behind it, `todos|0["l1"]`.
    package let text: ExactText

    /// Takes a name apart.
    ///
    /// - Parameter name: the name as the service sends it.
    package init(_ name: String) {
        if let hash = name.firstIndex(of: "#"), let number = Int(name[..<hash]) {
            self.number = number
            text = ExactText(String(name[name.index(after: hash)...]))
        } else {
            number = nil
            text = ExactText(name)
        }
    }

    /// The stream or the definition that the bucket is named after.
    package var stream: String { Self.stream(text) }

    /// Returns the stream or the definition in the text of a label.
    package static func stream(_ text: ExactText) -> String {
        String(text.text.prefix { $0 != "|" && $0 != "[" })
    }
}
