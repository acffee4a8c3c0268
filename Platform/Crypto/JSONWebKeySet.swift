#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A set of keys as a token's verifier fetches it (RFC 7517 5).
package struct JSONWebKeySet: Sendable {
    /// The keys in their order.
    package var keys: [JSONWebKey]

    /// Makes a set of the keys.
    package init(keys: [JSONWebKey] = []) { self.keys = keys }

    /// Reads a set and leaves out what a verifier must not use (service 2.3).
    ///
    /// Left out are keys for another `use` than `sig`, those whose `key_ops` lack `verify`, types, curves and
    /// algorithms that are not supported, and keys that are not well formed.
    ///
    /// - Parameters:
    ///   - json: The object with the member `keys`, a list of objects.
    ///   - includingSecrets: Whether shared secrets (`oct`) count; only for one's own settings, never for a set
    ///     that came over the network.
    /// - Throws: `malformed` where the text is not such an object.
    package init(json: [UInt8], includingSecrets: Bool = false) throws(CryptoError) {
        let set: Fields
        do {
            set = try JSONDecoder().decode(Fields.self, from: Data(json))
        } catch {
            // The decoder's own error quotes the text, which may hold private members.
            throw CryptoError(.malformed, "not a JSON object with a list of objects in \"keys\"")
        }
        keys = set.keys.compactMap { entry in
            guard let fields = entry.fields, fields.use == nil || fields.use == "sig",
                fields.keyOperations?.contains("verify") ?? true,
                includingSecrets || fields.kty != KeyType.oct.rawValue
            else {
                return nil
            }
            // RFC 7517 5: keys that are not understood or lack members are ignored, the others count.
            return try? JSONWebKey(fields)
        }
    }

    /// The JSON object of the public keys, to be published: never a private member, never a shared secret.
    package func jsonText() -> String {
        let published = keys.filter { $0.keyType != .oct }
        return "{\"keys\":["
            + published.map { $0.jsonObjectText(includePrivate: false) }.joined(separator: ",") + "]}"
    }

    /// The first key of the name.
    package func key(id: String) -> JSONWebKey? {
        keys.first { $0.kid == id }
    }

    private struct Fields: Decodable {
        let keys: [Entry]
    }

    /// An object that may or may not be a key that we can read.
    private struct Entry: Decodable {
        let fields: JSONWebKeyFields?

        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: JSONWebKeyFields.CodingKeys.self)
            // An entry that lacks `kty` or has a member of another type is ignored like any unknown key.
            fields = try? JSONWebKeyFields(from: decoder)
        }
    }
}
