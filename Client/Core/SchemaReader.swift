import PowerSyncSQLite
import PowerSyncWire

/// Reads the members of one object of a schema; errors name the member and never show a value.
struct SchemaReader {
    private let json: JSON
    private let subject: String

    init(_ json: JSON, _ subject: String) {
        self.json = json
        self.subject = subject
    }

    /// A member, nil where it is absent.
    func member(_ name: String) -> JSON? { json[name] }

    func string(_ name: String) throws(SQLiteError) -> String {
        guard let value = json[name]?.stringValue else { throw expected("a string", name) }
        return value
    }

    func optionalString(_ name: String) throws(SQLiteError) -> String? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let text = value.stringValue else { throw expected("a string", name) }
        return text
    }

    func bool(_ name: String) throws(SQLiteError) -> Bool {
        guard let value = json[name]?.boolValue else { throw expected("true or false", name) }
        return value
    }

    func optionalBool(_ name: String) throws(SQLiteError) -> Bool {
        json[name] == nil ? false : try bool(name)
    }

    func array(_ name: String) throws(SQLiteError) -> [JSON] {
        guard let value = json[name]?.arrayValue else { throw expected("an array", name) }
        return value
    }

    func optionalArray(_ name: String) throws(SQLiteError) -> [JSON] {
        json[name] == nil ? [] : try array(name)
    }

    func strings(_ value: JSON, _ name: String) throws(SQLiteError) -> [String] {
        guard let values = value.arrayValue else { throw expected("an array of strings", name) }
        return try values.mapTyped { value throws(SQLiteError) in
            guard let text = value.stringValue else { throw expected("an array of strings", name) }
            return text
        }
    }

    private func expected(_ kind: String, _ name: String) -> SQLiteError {
        CoreError.argument("expected \(kind) as `\(name)` of a \(subject)")
    }
}

extension Array {
    /// `map` that keeps the type of what is thrown.
    func mapTyped<T>(_ transform: (Element) throws(SQLiteError) -> T) throws(SQLiteError) -> [T] {
        var result: [T] = []
        result.reserveCapacity(count)
        for element in self { result.append(try transform(element)) }
        return result
    }
}
