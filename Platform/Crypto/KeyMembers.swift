/// The numbers of a key under their names in a JSON Web Key, in the one form that a key has.
///
/// Two spellings of a key (zero bytes in front, padding, stray bits) give equal members and one thumbprint.
struct KeyMembers: Sendable, Equatable {
    /// Members of RFC 7518 6 and RFC 8037 2 that hold bytes; EC and OKP keys share `x` and `d`.
    enum Name: String, Sendable, CaseIterable {
        case n, e, d, p, q, dp, dq, qi, x, y, k

        /// Whether the member is a secret, whatever the type of the key.
        var isPrivate: Bool {
            switch self {
            case .n, .e, .x, .y: false
            case .d, .p, .q, .dp, .dq, .qi, .k: true
            }
        }
    }

    static let rsaOrder: [Name] = [.n, .e, .d, .p, .q, .dp, .dq, .qi]

    let keyType: KeyType
    let curve: KeyCurve?
    private(set) var values: [Name: [UInt8]]

    /// Whether the key can sign.
    var isPrivate: Bool { values[.d] != nil || values[.k] != nil }

    /// Checks that a key of the type is there and brings its numbers into their one form.
    init(keyType: KeyType, curve: KeyCurve?, values given: [Name: [UInt8]]) throws(CryptoError) {
        var values: [Name: [UInt8]] = [:]
        func need(_ name: Name) throws(CryptoError) -> [UInt8] {
            guard let value = given[name] else {
                throw CryptoError(
                    .malformed, "a \(keyType.rawValue) key needs the member \"\(name.rawValue)\"")
            }
            return value
        }
        switch keyType {
        case .RSA:
            values[.n] = Self.trimmed(try need(.n))
            values[.e] = Self.trimmed(try need(.e))
            if given[.d] != nil {
                for name in Self.rsaOrder.dropFirst(2) where given[name] != nil {
                    values[name] = Self.trimmed(try need(name))
                }
            }
            let modulus = values[.n] ?? []
            let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
            if bits < 2_048 {
                throw CryptoError(.weakKey, "an RSA key of \(bits) bits; at least 2048 are needed")
            }
            // OPENSSL_RSA_MAX_MODULUS_BITS. A signature costs the cube of the length: a key of a megabyte would hold
            // up whoever only reads it.
            if bits > 16_384 {
                throw CryptoError(.unsupported, "an RSA key of \(bits) bits; at most 16384 are possible")
            }
            // RFC 7518 6.3.2: the members behind "d" come together or not at all. Of a part of them libcrypto makes no
            // key, and never releases what it was given.
            let rest = Self.rsaOrder.dropFirst(3)
            let present = rest.count { values[$0]?.isEmpty == false }
            if present != 0, present != rest.count {
                throw CryptoError(.malformed, "an RSA key with a part of its factors and exponents")
            }
            for (name, value) in values where value.count > modulus.count {
                throw CryptoError(.malformed, "\"\(name.rawValue)\" of an RSA key is longer than its modulus")
            }
        case .EC:
            guard let curve, !curve.isEdwards else {
                throw CryptoError(.unsupported, "an EC key of a curve other than P-256, P-384 or P-521")
            }
            for name in [Name.x, .y] { values[name] = try Self.fitted(try need(name), curve) }
            if let secret = given[.d] { values[.d] = try Self.fitted(secret, curve) }
        case .OKP:
            guard let curve, curve.isEdwards else {
                throw CryptoError(.unsupported, "an OKP key of a curve other than Ed25519 or Ed448")
            }
            values[.x] = try need(.x)
            values[.d] = given[.d]
            for (name, value) in values where value.count != curve.byteCount {
                throw CryptoError(
                    .malformed, "\"\(name.rawValue)\" of \(curve.rawValue) has \(curve.byteCount) bytes")
            }
        case .oct:
            values[.k] = try need(.k)
            if values[.k]?.isEmpty == true { throw CryptoError(.weakKey, "an empty secret") }
        }
        self.keyType = keyType
        self.curve = keyType == .EC || keyType == .OKP ? curve : nil
        self.values = values
    }

    /// The same key without its secrets; of a shared secret nothing is left.
    func publicMembers() -> KeyMembers {
        var copy = self
        copy.values = values.filter { !$0.key.isPrivate }
        return copy
    }

    /// A number without zero bytes in front (RFC 7518 2, Base64urlUInt).
    private static func trimmed(_ number: [UInt8]) -> [UInt8] {
        Array(number.drop { $0 == 0 })
    }

    /// A coordinate or private number at the full length of its curve (RFC 7518 6.2.1.2).
    private static func fitted(_ number: [UInt8], _ curve: KeyCurve) throws(CryptoError) -> [UInt8] {
        let digits = trimmed(number)
        guard digits.count <= curve.byteCount else {
            throw CryptoError(
                .malformed, "a coordinate of more than \(curve.byteCount) bytes on \(curve.rawValue)")
        }
        return Array(repeating: 0, count: curve.byteCount - digits.count) + digits
    }
}
