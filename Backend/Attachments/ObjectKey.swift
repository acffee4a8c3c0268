/// Names of objects in a store: what the backend makes, and nothing in which a file system or a URL sees more than
/// names.
///
/// Letters and digits of ASCII, `_` and `-`, in segments between slashes, none of them empty; at most 200 bytes.
/// Without a dot no segment means a folder above.
package enum ObjectKey {
    /// The most bytes of a key.
    package static let limit = 200

    /// Whether a text can be a key.
    package static func isValid(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        guard (1...limit).contains(bytes.count), bytes.allSatisfy({ isName($0) || $0 == slash }) else {
            return false
        }
        return bytes.split(separator: slash, omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    /// Refuses what can be no key.
    ///
    /// - Parameter key: the text.
    /// - Throws: `ObjectStoreError` with `.refused`.
    static func check(_ key: String) throws(ObjectStoreError) {
        guard isValid(key) else {
            throw ObjectStoreError(
                .refused, "a key has at most \(limit) letters, digits, _, - and / between others")
        }
    }

    /// Refuses what can be no part.
    ///
    /// - Parameters:
    ///   - number: its number.
    ///   - size: its bytes.
    /// - Throws: `ObjectStoreError` with `.refused`.
    static func check(part number: Int, size: Int64) throws(ObjectStoreError) {
        guard partNumbers.contains(number), size > 0 else {
            throw ObjectStoreError(.refused, "a part has a number from 1 to 10000 and at least one byte")
        }
    }

    /// Refuses what can be no object.
    ///
    /// - Parameter parts: its parts.
    /// - Throws: `ObjectStoreError` with `.refused`.
    static func check(_ parts: [StoredPart]) throws(ObjectStoreError) {
        guard !parts.isEmpty, zip(parts, parts.dropFirst()).allSatisfy({ $0.number < $1.number }) else {
            throw ObjectStoreError(.refused, "an upload is completed of parts in the order of their numbers")
        }
    }

    /// The numbers that a part may have, as S3 has them.
    static let partNumbers = 1...10_000

    private static let slash = UInt8(ascii: "/")

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
