/// What is wrong with an environment: all of it, and not the first alone.
struct SettingProblems {
    /// Each names its setting.
    private(set) var all: [BackendError] = []

    /// Notes what is wrong with a setting.
    mutating func add(_ name: String, _ message: String) { all.append(.setting(name, message)) }

    /// Notes that a setting says nothing without another one.
    mutating func add(_ name: String, needs other: String) {
        add(name, "has no effect without \(other): set \(other), or remove \(name)")
    }

    /// Notes what a reader says.
    mutating func add(_ error: BackendError) { all.append(error) }

    /// Returns what is read; nil if it cannot be, which is noted.
    mutating func read<Value>(_ body: () throws -> Value?) -> Value? {
        do {
            return try body()
        } catch let error as BackendError {
            all.append(error)
        } catch {
            all.append(BackendError(.configuration, "a setting cannot be read: \(error)", cause: error))
        }
        return nil
    }
}

extension EnvironmentReader {
    /// Reads texts, separated by commas, of which none may be empty.
    func names(_ name: String) throws(BackendError) -> [String] {
        guard let value = try text(name) else { return [] }
        let names = value.split(separator: ",", omittingEmptySubsequences: false).map {
            ValueConversion.trimmed(String($0))
        }
        guard names.allSatisfy({ !$0.isEmpty }) else {
            throw .setting(name, "must be names, separated by commas, none of them empty")
        }
        return names
    }

    /// Reads the name of a field or a cookie (RFC 9110 5.6.2, RFC 6265 4.1.1).
    func token(_ name: String, of what: String) throws(BackendError) -> String? {
        guard let value = try text(name) else { return nil }
        let isToken = value.utf8.allSatisfy { byte in
            let letter = byte | 0x20
            return (0x61...0x7A).contains(letter) || (0x30...0x39).contains(byte)
                || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        guard isToken else { throw .setting(name, "must be the name of a \(what)") }
        return value
    }
}
