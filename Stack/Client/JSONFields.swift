import PowerSyncWire

/// Reads the members of one object from outside; errors say where in the text something is wrong.
///
/// A member that is null counts as absent, and one that nobody knows is an error: a name that is spelled wrongly must not
/// pass for one that is left out.
struct JSONFields {
    private let json: JSON
    private let path: String

    /// Begins to read an object.
    ///
    /// - Parameters:
    ///   - json: the object.
    ///   - path: where it is, as `tables[0]`; empty for the whole text.
    ///   - known: the names that it may have.
    /// - Throws: `ClientError` for another value, and for another name.
    init(_ json: JSON, at path: String = "", known: [String]) throws(ClientError) {
        self.json = json
        self.path = path
        guard let members = json.objectMembers else {
            throw ClientError((path.isEmpty ? "" : "\(path): ") + "expected an object")
        }
        for member in members where !known.contains(member.name) {
            throw ClientError("\(place(of: member.name)): unknown key")
        }
    }

    /// Returns where a member is.
    func place(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// Returns a member; nil where it is absent or null.
    func member(_ name: String) -> JSON? {
        guard let value = json[name], !value.isNull else { return nil }
        return value
    }

    /// Returns an error that names a member.
    func expected(_ what: String, _ name: String) -> ClientError {
        ClientError("\(place(of: name)): expected \(what)")
    }

    /// Returns a text.
    func string(_ name: String) throws(ClientError) -> String {
        guard let text = member(name)?.stringValue else { throw expected("a text", name) }
        return text
    }

    /// Returns a text; nil where it is absent.
    func optionalString(_ name: String) throws(ClientError) -> String? {
        member(name) == nil ? nil : try string(name)
    }

    /// Returns a truth value.
    func bool(_ name: String) throws(ClientError) -> Bool {
        guard let value = member(name)?.boolValue else { throw expected("true or false", name) }
        return value
    }

    /// Returns a truth value; false where it is absent.
    func optionalBool(_ name: String) throws(ClientError) -> Bool {
        member(name) == nil ? false : try bool(name)
    }

    /// Returns a number from 0; nil where it is absent.
    func optionalNumber(_ name: String) throws(ClientError) -> Double? {
        guard let value = member(name) else { return nil }
        guard case .number(let lexeme) = value, let number = Double(lexeme), number >= 0, number.isFinite
        else { throw expected("a number from 0", name) }
        return number
    }

    /// Returns a whole number within a range; nil where it is absent.
    func optionalInteger(_ name: String, in range: ClosedRange<Int64>) throws(ClientError) -> Int64? {
        guard let value = member(name) else { return nil }
        guard let number = value.int64Value, range.contains(number) else {
            throw expected("a whole number from \(range.lowerBound) to \(range.upperBound)", name)
        }
        return number
    }

    /// Returns the elements of an array, and where each is.
    func elements(_ name: String) throws(ClientError) -> [(json: JSON, place: String)] {
        guard let elements = member(name)?.arrayValue else { throw expected("an array", name) }
        let place = place(of: name)
        return elements.enumerated().map { ($1, "\(place)[\($0)]") }
    }

    /// Returns the elements of an array, and where each is; none where it is absent.
    func optionalElements(_ name: String) throws(ClientError) -> [(json: JSON, place: String)] {
        member(name) == nil ? [] : try elements(name)
    }

    /// Returns the texts of an array.
    func strings(_ name: String) throws(ClientError) -> [String] {
        var texts: [String] = []
        for (json, place) in try elements(name) {
            guard let text = json.stringValue else { throw ClientError("\(place): expected a text") }
            texts.append(text)
        }
        return texts
    }
}
