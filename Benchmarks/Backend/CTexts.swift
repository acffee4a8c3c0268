/// Texts as C reads them: one behind the other, each ended by a zero, and nil as NULL.
final class CTexts: Sendable {
    // Safe because nobody writes to either once they are filled.
    nonisolated(unsafe) private let bytes: UnsafeMutablePointer<CChar>
    // Safe because nobody writes to it once it is filled.
    nonisolated(unsafe) private let places: UnsafeMutablePointer<UnsafePointer<CChar>?>

    /// Copies texts, in which there is no zero.
    init(_ texts: [String?]) {
        let size = texts.reduce(0) { $0 + ($1.map { $0.utf8.count + 1 } ?? 0) }
        bytes = .allocate(capacity: max(1, size))
        places = .allocate(capacity: max(1, texts.count))
        var filled = 0
        for (index, text) in texts.enumerated() {
            guard let text else {
                (places + index).initialize(to: nil)
                continue
            }
            (places + index).initialize(to: UnsafePointer(bytes + filled))
            for byte in text.utf8 {
                (bytes + filled).initialize(to: CChar(bitPattern: byte))
                filled += 1
            }
            (bytes + filled).initialize(to: 0)
            filled += 1
        }
    }

    deinit {
        bytes.deallocate()
        places.deallocate()
    }

    /// The texts; good as long as this object is there.
    var pointer: UnsafePointer<UnsafePointer<CChar>?> { UnsafePointer(places) }
}
