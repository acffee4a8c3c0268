import PowerSyncCrypto
import PowerSyncSQLite

/// Identifies a source row across its life (service 4.5).
package struct ReplicaID: Sendable, Hashable {
    /// The sixteen bytes of a UUID.
    package let bytes: [UInt8]

    /// Takes sixteen bytes.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID has 16 bytes")
        self.bytes = bytes
    }

    /// Derives the id from the identity columns: UUID version 5 over their BSON document.
    package init(columns: [(name: String, value: SQLiteValue)]) {
        var hash = Array(Digest.sha1(Self.namespace + Self.document(columns)).prefix(16))
        hash[6] = hash[6] & 0x0F | 0x50
        hash[8] = hash[8] & 0x3F | 0x80
        bytes = hash
    }

    /// Makes an id for a row that nothing identifies: UUID version 4.
    package static func random() -> ReplicaID {
        var bytes = randomBytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return ReplicaID(bytes: bytes)
    }

    /// The UUID in lower case with dashes.
    package var text: String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return text
    }

    /// `a396dd91-09fc-4017-a28d-3df722f651e9`.
    static let namespace: [UInt8] = [
        0xA3, 0x96, 0xDD, 0x91, 0x09, 0xFC, 0x40, 0x17, 0xA2, 0x8D, 0x3D, 0xF7, 0x22, 0xF6, 0x51, 0xE9,
    ]

    /// The int32 that a real is written as; nil for one that stays a double: -0, too.
    static func integer(_ real: Double) -> Int32? {
        real == 0 && real.sign == .minus ? nil : Int32(exactly: real)
    }

    /// The BSON document of the columns, of which integers are int64 and whole reals int32 where they fit.
    static func document(_ columns: [(name: String, value: SQLiteValue)]) -> [UInt8] {
        var content: [UInt8] = []
        func element(_ type: UInt8, _ name: String) {
            content.append(type)
            content.append(contentsOf: name.utf8)
            content.append(0)
        }
        func number(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { content.append(contentsOf: $0) }
        }
        for (name, value) in columns {
            switch value {
            case .null: element(0x0A, name)
            case .integer(let integer):
                element(0x12, name)
                number(integer)
            case .real(let real):
                if let integer = Self.integer(real) {
                    element(0x10, name)
                    number(integer)
                } else {
                    element(0x01, name)
                    number(real.bitPattern)
                }
            case .text(let text):
                element(0x02, name)
                number(Int32(text.utf8.count + 1))
                content.append(contentsOf: text.utf8)
                content.append(0)
            case .blob(let bytes):
                element(0x05, name)
                number(Int32(bytes.count))
                content.append(0)
                content.append(contentsOf: bytes)
            }
        }
        content.append(0)
        var document: [UInt8] = []
        withUnsafeBytes(of: Int32(content.count + 4).littleEndian) { document.append(contentsOf: $0) }
        return document + content
    }
}
