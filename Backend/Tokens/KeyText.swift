import PowerSyncCrypto
import PowerSyncWire

/// A key in any of the spellings that settings and files have for one (backend 4.6).
enum KeyText {
    /// Reads a JWK, base64 of one, PEM, or base64 of DER.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - name: what it is, for the error.
    /// - Returns: the key.
    /// - Throws: `BackendError` with `.keys`; the text stays out of it.
    static func key(_ text: String, called name: String) throws(BackendError) -> JSONWebKey {
        try key(try bytes(text, called: name), called: name)
    }

    /// Reads public keys: one in a spelling as above, or a JWK set.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - name: what it is, for the error.
    /// - Returns: the public parts, at least one.
    /// - Throws: `BackendError` with `.keys`.
    static func publicKeys(_ text: String, called name: String) throws(BackendError) -> [JSONWebKey] {
        let bytes = try bytes(text, called: name)
        // Not an error of its own: what is no JSON is read otherwise.
        guard let set = (try? JSON.parse(bytes))?["keys"] else {
            return [try key(bytes, called: name).publicKey()]
        }
        guard let list = set.arrayValue, !list.isEmpty else {
            throw BackendError(.keys, "\(name) is a set without keys")
        }
        var keys: [JSONWebKey] = []
        for entry in list { keys.append(try jwk(entry.utf8, called: name).publicKey()) }
        return keys
    }

    /// Reads bytes of a JWK, of PEM or of DER.
    static func key(_ bytes: [UInt8], called name: String) throws(BackendError) -> JSONWebKey {
        let first = bytes.first { !isBlank($0) }
        switch first {
        case UInt8(ascii: "{"): return try jwk(bytes, called: name)
        case UInt8(ascii: "-"): return try pem(String(decoding: bytes, as: UTF8.self), called: name)
        default: return try der(bytes, called: name)
        }
    }

    /// Reads a JWK and names what it leaves open: purpose, algorithm by its type, and its RFC 7638 thumbprint.
    static func jwk(_ bytes: [UInt8], called name: String) throws(BackendError) -> JSONWebKey {
        let json: JSON
        do {
            json = try JSON.parse(bytes)
        } catch {
            throw BackendError(.keys, "\(name) is no key: its JSON cannot be read", cause: error)
        }
        var members = json.objectMembers ?? []
        func add(_ name: String, _ value: String?) {
            guard let value, json[name]?.stringValue?.isEmpty ?? true else { return }
            members.removeAll { $0.name == name }
            members.append(JSONMember(name, .string(value)))
        }
        add("use", "sig")
        add("alg", usualAlgorithm(json["kty"]?.stringValue, json["crv"]?.stringValue))
        return try strong(name) { () throws(CryptoError) in
            add("kid", try JSONWebKey(json: JSON.object(members).utf8).thumbprint)
            return try JSONWebKey(json: JSON.object(members).utf8)
        }
    }

    /// Reads PEM text.
    static func pem(_ text: String, called name: String) throws(BackendError) -> JSONWebKey {
        try strong(name) { () throws(CryptoError) in try JSONWebKey.pem(text) }
    }

    /// Reads DER.
    static func der(_ bytes: [UInt8], called name: String) throws(BackendError) -> JSONWebKey {
        try strong(name) { () throws(CryptoError) in try JSONWebKey.der(bytes) }
    }

    private static func strong(
        _ name: String, _ read: () throws(CryptoError) -> JSONWebKey
    ) throws(BackendError) -> JSONWebKey {
        let key: JSONWebKey
        do {
            key = try read()
            try key.requireStrength()
        } catch {
            throw BackendError(.keys, "\(name) is no key that can be used: \(error)", cause: error)
        }
        guard key.keyType != .oct else {
            throw BackendError(
                .keys, "\(name) must be a key for ES256, RS256, EdDSA or alike, and no shared secret")
        }
        guard let id = key.kid, (1...255).contains(id.utf8.count),
            id.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else {
            throw BackendError(.keys, "\(name): the name of a key (kid) has 1 to 255 printable characters")
        }
        return key
    }

    private static func bytes(_ text: String, called name: String) throws(BackendError) -> [UInt8] {
        let text = ValueConversion.trimmed(text)
        if text.hasPrefix("{") || text.hasPrefix("-----BEGIN") { return Array(text.utf8) }
        guard let bytes = Base64.decode(text), !bytes.isEmpty else {
            throw BackendError(.keys, "\(name) is no base64 of a JWK or of DER, no JWK and no PEM")
        }
        return bytes
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func usualAlgorithm(_ type: String?, _ curve: String?) -> String? {
        switch (type, curve) {
        case ("RSA", _): "RS256"
        case ("EC", "P-384"): "ES384"
        case ("EC", "P-521"): "ES512"
        case ("EC", _): "ES256"
        case ("OKP", _): "EdDSA"
        default: nil
        }
    }
}
