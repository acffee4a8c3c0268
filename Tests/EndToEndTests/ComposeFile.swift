import PowerSyncTestSupport
import PowerSyncYAML
import Testing

/// docker-compose.yml as an engine reads it, with the values of .env.
struct ComposeFile {
    /// What one container gets.
    struct Container {
        /// Its environment.
        var environment: [String: String]
        /// What is mounted: a file of the repository or the name of a volume, and where.
        var mounts: [(source: String, target: String)]
    }

    private let root: YAMLNode
    private let settings: [String: String]

    /// Reads both files; `changes` are values of .env that a user has changed.
    init(changes: [String: String] = [:]) throws {
        root = try #require(try YAMLNode.parse(Repository.text("docker-compose.yml")))
        let written: [String: String] = Dictionary(
            uniqueKeysWithValues: try Repository.text(".env").split(separator: "\n").compactMap { line in
                guard !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") else { return nil }
                return (String(line[..<equals]), String(line[line.index(after: equals)...]))
            })
        settings = written.merging(changes) { $1 }
    }

    /// Returns a value of .env.
    func setting(_ name: String) throws -> String { try #require(settings[name], "\(name) is not in .env") }

    /// Returns what the container of a service gets.
    func container(_ service: String) throws -> Container {
        let node = try #require(root["services"]?[service], "docker-compose.yml has no service \(service)")
        return Container(
            environment: try merged(node["environment"]).mapValues { try text($0) },
            mounts: try elements(node, "volumes").map { mount in
                let parts = mount.split(separator: ":").map(String.init)
                try #require(parts.count >= 2, "a mount in another form: \(mount)")
                return (parts[0], parts[1])
            })
    }

    /// The texts of a list, which may stand in a mapping that is merged in.
    private func elements(_ node: YAMLNode, _ key: String) throws -> [String] {
        try (merged(node)[key]?.elements ?? []).map { try text($0) }
    }

    /// The pairs of a mapping; its own win over those that `<<` brings.
    private func merged(_ node: YAMLNode?) throws -> [String: YAMLNode] {
        var all: [String: YAMLNode] = [:]
        for (key, value) in node?.pairs ?? [] where key.string == "<<" {
            all.merge(try merged(value)) { old, _ in old }
        }
        for (key, value) in node?.pairs ?? [] where key.string != "<<" {
            all[try #require(key.string)] = value
        }
        return all
    }

    /// A text with `${NAME}`, `${NAME:-default}` and `$$` replaced.
    private func text(_ node: YAMLNode) throws -> String {
        let written = try #require(node.string, "line \(node.line) of docker-compose.yml has no text")
        return try written.replacing("$$", with: "\u{0}").replacing(/\$\{(\w+)(?::-([^}]*))?\}/) { match in
            let value = settings[String(match.1)] ?? ""
            if !value.isEmpty { return value }
            if let standard = match.2 { return String(standard) }
            return try setting(String(match.1))
        }.replacing("\u{0}", with: "$")
    }
}
