extension BackendError {
    static func setting(_ name: String, _ message: String) -> BackendError {
        BackendError(.configuration, "\(name) \(message)")
    }
}

/// Reads variables of the environment.
struct EnvironmentReader {
    let variables: [String: String]
    let readFile: (String) throws -> String

    func text(_ name: String) throws(BackendError) -> String? {
        guard let value = variables[name], !value.isEmpty else { return nil }
        return value
    }

    /// Reads a value that may also be in the file that `<NAME>_FILE` names.
    func secret(_ name: String) throws(BackendError) -> String? {
        guard let path = try text(name + "_FILE") else { return try text(name) }
        guard try text(name) == nil else { throw .setting(name, "and \(name)_FILE exclude each other") }
        do {
            return ValueConversion.trimmed(try readFile(path))
        } catch {
            throw BackendError(.configuration, "\(name)_FILE cannot be read: \(path)", cause: error)
        }
    }

    /// Whether everything that is for development is refused: unless the environment says that it is one.
    ///
    /// - Throws: `BackendError` for an environment that is neither.
    func isProduction() throws(BackendError) -> Bool {
        try choice("ENV", ["development", "production"]) != "development"
    }

    func databaseURI() throws(BackendError) -> String {
        let whole = try secret("DATABASE_URI")
        let parts = try discreteDatabase()
        guard let uri = whole ?? parts else {
            throw .setting("DATABASE_URI", "is missing: postgres://user:password@host:5432/database")
        }
        return uri
    }

    func migrationTimeout() throws(BackendError) -> Duration? {
        try duration("MIGRATION_TIMEOUT", 1...86_400)
    }

    func tokenLifetime() throws(BackendError) -> Duration? {
        try duration("JWT_TTL", 60...86_400)
    }

    func flag(_ name: String) throws(BackendError) -> Bool? {
        switch try text(name) {
        case nil: nil
        case "true", "1": true
        case "false", "0": false
        default: throw .setting(name, "must be true or false")
        }
    }

    func choice(_ name: String, _ values: [String]) throws(BackendError) -> String? {
        guard let value = try text(name) else { return nil }
        guard values.contains(value) else {
            throw .setting(name, "must be " + values.joined(separator: " or "))
        }
        return value
    }

    func list(_ name: String) throws(BackendError) -> [String] {
        (try text(name) ?? "").split(separator: ",").map { ValueConversion.trimmed(String($0)) }.filter {
            $0 != ""
        }
    }

    func number(_ name: String, _ range: ClosedRange<Int>) throws(BackendError) -> Int? {
        guard let value = try text(name) else { return nil }
        guard let number = Int(value), range.contains(number) else {
            throw .setting(name, "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func milliseconds(_ name: String) throws(BackendError) -> Duration? {
        try number(name, 1...3_600_000).map { .milliseconds($0) }
    }

    /// Reads seconds, or a number with s, m, h or d.
    func duration(_ name: String, _ range: ClosedRange<Int>) throws(BackendError) -> Duration? {
        guard let value = try text(name) else { return nil }
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let unit = value.last.flatMap { units[$0] }
        let digits = unit == nil ? Substring(value) : value.dropLast()
        let (seconds, isTooLarge) = (Int(digits) ?? -1).multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooLarge, seconds >= 0, range.contains(seconds) else {
            throw .setting(
                name,
                "must be from \(range.lowerBound) to \(range.upperBound) "
                    + "seconds, or a number with s, m, h or d")
        }
        return .seconds(seconds)
    }

    /// The parts that the Django demo takes, as one URI.
    func discreteDatabase() throws(BackendError) -> String? {
        guard let host = try text("DATABASE_HOST"), let name = try text("DATABASE_NAME") else { return nil }
        var parts = ["host": host, "dbname": name]
        parts["port"] = try text("DATABASE_PORT")
        parts["user"] = try text("DATABASE_USER")
        parts["password"] = try secret("DATABASE_PASSWORD")
        return parts.sorted { $0.key < $1.key }.map { name, value in
            "\(name)='" + value.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }.joined(separator: " ")
    }
}
