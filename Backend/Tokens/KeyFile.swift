import PowerSyncCrypto
import PowerSyncWire

/// What is to be written in a folder of keys.
package struct KeyWrite: Sendable, Hashable {
    /// The name of the file.
    package let name: String
    /// What is in it afterwards.
    package let text: String
    /// Whether the file must not be there yet.
    package let isNew: Bool
}

/// One key of a folder, with what is said of it.
package struct KeyFile: Sendable {
    /// The endings of files of keys.
    enum Form: String, CaseIterable {
        /// A JWK, whose members say the rest.
        case jwk, json
        /// Something that has no members: those are in a file beside it.
        case pem, der
    }

    /// The name of the file.
    package let name: String
    /// The key.
    package let key: JSONWebKey
    /// What is said of it.
    package let times: KeyTimes
    /// The members of a JWK as they were read, without those of the times; nil for other forms.
    private let members: [JSONMember]?

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - bytes: what is in it.
    ///   - state: what is in the file of its state, if there is one.
    /// - Throws: `BackendError` with `.keys`, naming the file.
    package init(name: String, bytes: [UInt8], state: [UInt8]?) throws(BackendError) {
        self.name = name
        if KeyFile.isJWK(name) {
            key = try KeyText.jwk(bytes, called: name)
            let json = try KeyFile.object(bytes, in: name)
            times = try KeyTimes(json, in: name)
            members = (json.objectMembers ?? []).filter { !$0.name.hasPrefix("psb_") }
        } else {
            if name.hasSuffix("." + Form.pem.rawValue) {
                key = try KeyText.pem(String(decoding: bytes, as: UTF8.self), called: name)
            } else {
                key = try KeyText.der(bytes, called: name)
            }
            let place = KeyFile.stateName(of: name)
            if let state {
                times = try KeyTimes(try KeyFile.object(state, in: place), in: place)
            } else {
                times = KeyTimes()
            }
            members = nil
        }
    }

    /// Makes a file of a fresh key.
    init(name: String, key: JSONWebKey, times: KeyTimes) throws(BackendError) {
        let json = try KeyFile.object(Array(key.jsonObjectText(includePrivate: true).utf8), in: name)
        self.name = name
        self.key = key
        self.times = times
        members = json.objectMembers
    }

    /// The name of the key, which every key of a folder has.
    package var id: String { key.kid ?? "" }

    /// The name without its ending: two keys must not share it.
    package var stem: String { KeyFile.stem(of: name) }

    /// What is to be written so that other times are said of the key.
    func saying(_ times: KeyTimes, isNew: Bool = false) -> KeyWrite {
        let text = JSON.object((members ?? []) + times.members).text
        return KeyWrite(
            name: members == nil ? KeyFile.stateName(of: name) : name, text: text, isNew: isNew)
    }

    /// Whether a file of this name holds a key.
    static func isKey(_ name: String) -> Bool {
        guard !name.hasPrefix("."), !name.hasSuffix(".state.json") else { return false }
        return Form.allCases.contains { name.hasSuffix("." + $0.rawValue) && stem(of: name) != "" }
    }

    static func isJWK(_ name: String) -> Bool {
        [Form.jwk, .json].contains { name.hasSuffix("." + $0.rawValue) }
    }

    /// The file that says the times of a key that has no members.
    static func stateName(of name: String) -> String { stem(of: name) + ".state.json" }

    private static func stem(of name: String) -> String {
        guard let point = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return name }
        return String(name[..<point])
    }

    private static func object(_ bytes: [UInt8], in name: String) throws(BackendError) -> JSON {
        do {
            let json = try JSON.parse(bytes)
            guard json.objectMembers != nil else { throw BackendError(.keys, "\(name) is no JSON object") }
            return json
        } catch let error as BackendError {
            throw error
        } catch {
            throw BackendError(.keys, "\(name): its JSON cannot be read", cause: error)
        }
    }
}
