#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JSONWebKey {
    /// Reads the JSON object of a key.
    ///
    /// - Parameter json: The object; members that are not known are ignored.
    /// - Throws: `malformed`, `unsupported` (an unknown `kty`, `crv` or `alg`), `weakKey`, `inconsistentKey`, or
    ///   `wrongKey` where `alg` does not go with the key.
    package init(json: [UInt8]) throws(CryptoError) {
        let fields: JSONWebKeyFields
        do {
            fields = try JSONDecoder().decode(JSONWebKeyFields.self, from: Data(json))
        } catch {
            // The decoder's own error quotes the text, which may hold private members.
            throw CryptoError(.malformed, "not the JSON object of a key: \"kty\" and its members are texts")
        }
        try self.init(fields)
    }

    /// Makes a key of members under their names in JSON, as settings hold them.
    ///
    /// - Parameters:
    ///   - fields: Members that are texts; those that are not known are ignored.
    ///   - keyOperations: The member `key_ops`.
    /// - Throws: As `init(json:)`.
    package init(fields: [String: String], keyOperations: [String]? = nil) throws(CryptoError) {
        guard let keyType = fields["kty"] else {
            throw CryptoError(.malformed, "a key needs the member \"kty\"")
        }
        try self.init(
            JSONWebKeyFields(
                kty: keyType, kid: fields["kid"], alg: fields["alg"], use: fields["use"],
                keyOperations: keyOperations, crv: fields["crv"], n: fields["n"], e: fields["e"],
                d: fields["d"],
                p: fields["p"], q: fields["q"], dp: fields["dp"], dq: fields["dq"], qi: fields["qi"],
                x: fields["x"], y: fields["y"], k: fields["k"]))
    }

    init(_ fields: JSONWebKeyFields) throws(CryptoError) {
        guard let keyType = KeyType(rawValue: fields.kty) else {
            throw CryptoError(.unsupported, "a key of a type other than RSA, EC, OKP and oct")
        }
        let curve = fields.crv.flatMap(KeyCurve.init(rawValue:))
        let algorithm = fields.alg.flatMap(SignatureAlgorithm.init(rawValue:))
        if fields.alg != nil && algorithm == nil {
            throw CryptoError(.unsupported, "a key for an algorithm that is not supported")
        }
        var values: [KeyMembers.Name: [UInt8]] = [:]
        for (name, text) in fields.texts {
            guard let bytes = Base64.decode(text) else {
                throw CryptoError(.malformed, "the member \"\(name.rawValue)\" of a key is not base64url")
            }
            values[name] = bytes
        }
        let members = try KeyMembers(keyType: keyType, curve: curve, values: values)
        try self.init(
            members: members, handle: keyType == .oct ? nil : KeyHandle.make(of: members),
            algorithm: algorithm,
            kid: fields.kid, use: fields.use, keyOperations: fields.keyOperations)
    }

    /// The JSON object of the key, members in alphabetical order.
    ///
    /// Without `includePrivate` it holds no private member, and of a shared secret only type and name.
    package func jsonObjectText(includePrivate: Bool) -> String {
        var fields: [(name: String, json: String)] = [("kty", Self.quoted(keyType.rawValue))]
        if let kid { fields.append(("kid", Self.quoted(kid))) }
        if let algorithm { fields.append(("alg", Self.quoted(algorithm.rawValue))) }
        if let use { fields.append(("use", Self.quoted(use))) }
        if let curve { fields.append(("crv", Self.quoted(curve.rawValue))) }
        let operations = includePrivate || !isPrivate ? keyOperations : keyOperations.map { _ in ["verify"] }
        if let operations {
            fields.append(("key_ops", "[" + operations.map(Self.quoted).joined(separator: ",") + "]"))
        }
        for (name, bytes) in members.values where includePrivate || !name.isPrivate {
            fields.append((name.rawValue, Self.quoted(Base64URL.encode(bytes))))
        }
        fields.sort { $0.name < $1.name }
        return "{" + fields.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }

    /// The thumbprint with SHA-256 in base64url (RFC 7638): equal for equal keys, whatever else they carry.
    package var thumbprint: String {
        var fields = [("kty", keyType.rawValue)]
        if let curve { fields.append(("crv", curve.rawValue)) }
        for (name, bytes) in members.values where !name.isPrivate || name == .k {
            fields.append((name.rawValue, Base64URL.encode(bytes)))
        }
        // The required members in alphabetical order and no white space (RFC 7638 3.2, RFC 8037 2).
        fields.sort { $0.0 < $1.0 }
        let text = "{" + fields.map { "\"\($0.0)\":\"\($0.1)\"" }.joined(separator: ",") + "}"
        return Base64URL.encode(Digest.sha256(Array(text.utf8)))
    }

    /// A JSON string (RFC 8259 7).
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// The members of a key in JSON (RFC 7517 4, RFC 7518 6) that this module reads.
struct JSONWebKeyFields: Decodable {
    let kty: String
    let kid: String?
    let alg: String?
    let use: String?
    let keyOperations: [String]?
    let crv: String?
    let n, e, d, p, q, dp, dq, qi, x, y, k: String?

    enum CodingKeys: String, CodingKey {
        case kty, kid, alg, use
        case keyOperations = "key_ops"
        case crv, n, e, d, p, q, dp, dq, qi, x, y, k
    }

    /// The members that hold bytes.
    var texts: [(KeyMembers.Name, String)] {
        let all: [(KeyMembers.Name, String?)] = [
            (.n, n), (.e, e), (.d, d), (.p, p), (.q, q), (.dp, dp), (.dq, dq), (.qi, qi), (.x, x), (.y, y),
            (.k, k),
        ]
        return all.compactMap { name, text in text.map { (name, $0) } }
    }
}
