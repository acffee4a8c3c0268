import CPowerSyncCrypto

/// A signature algorithm of JSON Web Algorithms (RFC 7518 3.1, RFC 8037 3.1).
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// HMAC with a shared secret.
    case HS256, HS384, HS512
    /// RSASSA-PKCS1-v1_5.
    case RS256, RS384, RS512
    /// ECDSA over P-256, P-384 and P-521.
    case ES256, ES384, ES512
    /// Ed25519 or Ed448, as the key says.
    case EdDSA

    /// The only type of key that may be used with this algorithm.
    package var keyType: KeyType {
        switch self {
        case .HS256, .HS384, .HS512: .oct
        case .RS256, .RS384, .RS512: .RSA
        case .ES256, .ES384, .ES512: .EC
        case .EdDSA: .OKP
        }
    }

    /// The curves of which the key may be; empty where curves mean nothing.
    var curves: [KeyCurve] {
        switch self {
        case .ES256: [.p256]
        case .ES384: [.p384]
        case .ES512: [.p521]
        case .EdDSA: [.ed25519, .ed448]
        default: []
        }
    }

    /// libcrypto's digest; nil for EdDSA, which has its own inside.
    var digest: OpaquePointer? {
        switch self {
        case .HS256, .RS256, .ES256: EVP_sha256()
        case .HS384, .RS384, .ES384: EVP_sha384()
        case .HS512, .RS512, .ES512: EVP_sha512()
        case .EdDSA: nil
        }
    }
}

/// The `kty` of a JSON Web Key.
package enum KeyType: String, Sendable {
    /// RSA, an elliptic curve, an Edwards curve ("octet key pair") and a shared secret.
    case RSA, EC, OKP, oct
}

/// The `crv` of a JSON Web Key.
package enum KeyCurve: String, Sendable, CaseIterable {
    /// P-256, libcrypto's prime256v1.
    case p256 = "P-256"
    /// P-384, libcrypto's secp384r1.
    case p384 = "P-384"
    /// P-521, libcrypto's secp521r1.
    case p521 = "P-521"
    /// Ed25519.
    case ed25519 = "Ed25519"
    /// Ed448.
    case ed448 = "Ed448"

    /// libcrypto's name of the group or of the key type.
    var libraryName: String {
        switch self {
        case .p256: "prime256v1"
        case .p384: "secp384r1"
        case .p521: "secp521r1"
        case .ed25519: "ED25519"
        case .ed448: "ED448"
        }
    }

    /// Bytes of a coordinate, of a private number, and half of a raw ECDSA signature.
    var byteCount: Int {
        switch self {
        case .p256, .ed25519: 32
        case .p384: 48
        case .p521: 66
        case .ed448: 57
        }
    }

    /// Whether the key is an Edwards key (OKP) and not of a Weierstrass curve (EC).
    var isEdwards: Bool { self == .ed25519 || self == .ed448 }
}
