import PowerSyncWire

/// The names that lead to a part of a JSON value (service 6.10).
struct MemberPath {
    /// The names; none for the whole value.
    let names: [String]

    /// Reads what stands behind `->` and `->>`.
    ///
    /// - Parameters:
    ///   - text: A path if it begins with `$`, of which the first part says nothing: `$[0]` is the whole value.
    ///   - isFixed: Whether any other text is one name, as with `fixed_json_extract`; else it is split at each point.
    init(member text: String, isFixed: Bool) {
        let isPath = text.utf8.first == UInt8(ascii: "$")
        if isPath || !isFixed {
            // Not by characters: a point with an accent behind it is a point, too.
            let parts = text.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
                .map { String($0) }
            names = isPath ? Array(parts.dropFirst()) : parts
        } else {
            names = [text]
        }
    }

    /// Reads the path of `json_extract`.
    ///
    /// - Throws: `EvaluationError` unless it begins with `$`.
    init(path: String) throws(EvaluationError) {
        guard path.utf8.first == UInt8(ascii: "$") else {
            throw EvaluationError(message: DiagnosticName.jsonPath.message(), kind: .path)
        }
        self.init(member: path, isFixed: true)
    }

    /// The part of a value; nil if there is none.
    ///
    /// Whole numbers lead to elements of arrays, and to the UTF-16 units of texts.
    func part(of value: JSON) -> JSON? {
        var value = value
        for name in names {
            guard let next = Self.member(name, of: value) else { return nil }
            value = next
        }
        return value
    }

    private static func member(_ name: String, of value: JSON) -> JSON? {
        switch value {
        case .object: return value[name]
        case .array(let elements):
            guard let index = JSONReader.arrayIndex(name), index < elements.count else { return nil }
            return elements[Int(index)]
        case .string(let text):
            guard let index = JSONReader.arrayIndex(name),
                let unit = text.utf16.dropFirst(Int(index)).first
            else { return nil }
            return .string(String(decoding: [unit], as: UTF16.self))
        case .null, .bool, .number: return nil
        }
    }
}
