extension JSONWebKey {
    /// Refuses a key by which somebody could sign who does not have its private part.
    ///
    /// That is an RSA key whose exponent is even or below 3 (with 1 each message is its own signature), and one of Ed25519
    /// whose point has a small order: one signature is good for many messages (RFC 8032 8.9, RFC 7748 6.1). RSA keys of fewer
    /// than 2,048 bits are no keys at all (`weakKey`).
    ///
    /// - Throws: `CryptoError` with `weakKey`.
    package func requireStrength() throws(CryptoError) {
        if keyType == .RSA {
            let exponent = members.values[.e] ?? []
            let isEven = exponent.last.map { $0.isMultiple(of: 2) } ?? true
            if isEven || exponent == [1] {
                throw CryptoError(.weakKey, "an RSA key whose exponent is even or below 3")
            }
        }
        if curve == .ed25519, var point = members.values[.x], let last = point.popLast() {
            // The highest bit is the sign of the other coordinate.
            point.append(last & 0x7F)
            if Self.smallPoints.contains(point) {
                throw CryptoError(.weakKey, "an Ed25519 key whose point has a small order")
            }
        }
    }

    /// The points of order 1, 2, 4 and 8 of Ed25519, as their coordinate y is sent; of 0 and 1 also the spellings that are not
    /// reduced.
    private static let smallPoints: Set<[UInt8]> = {
        let prime: [UInt8] = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        func with(_ first: UInt8, _ point: [UInt8]) -> [UInt8] { [first] + point.dropFirst() }
        let zero = [UInt8](repeating: 0, count: 32)
        let eighth: [UInt8] = [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
            0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ]
        let otherEighth: [UInt8] = [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
            0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ]
        return [
            zero, with(1, zero), eighth, otherEighth, with(0xEC, prime), prime, with(0xEE, prime),
        ]
    }()
}
