import Foundation
import PowerSyncWire

/// The recordings of the real service.
enum Fixtures {
    static let curated = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/service/curated")

    /// One scenario by its name.
    static func scenario(_ name: String) throws -> JSON {
        try parse(String(contentsOf: curated.appending(path: "\(name).json"), encoding: .utf8))
    }

    /// All scenarios with their names.
    static func scenarios() throws -> [(name: String, json: JSON)] {
        try FileManager.default.contentsOfDirectory(at: curated, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }.map { $0.deletingPathExtension().lastPathComponent }
            .sorted()
            .map { ($0, try scenario($0)) }
    }

    /// Reads JSON, also where the real service wrote bare words for what is no number (service 3.14 D5).
    static func parse(_ text: String) throws -> JSON {
        if let json = try? JSON.parse(text) { return json }
        var result = ""
        var isQuoted = false
        var rest = text[...]
        while let next = rest.first {
            if !isQuoted, let word = ["NaN", "Infinity", "-Infinity"].first(where: { rest.hasPrefix($0) }) {
                result += "\"\(word)\""
                rest = rest.dropFirst(word.count)
                continue
            }
            let count = next == "\\" ? 2 : 1
            if next == "\"" { isQuoted.toggle() }
            result += rest.prefix(count)
            rest = rest.dropFirst(count)
        }
        return try JSON.parse(result)
    }

    /// Every object with this member, however deep.
    static func objects(with name: String, in json: JSON) -> [JSON] {
        let own = json[name] == nil ? [] : [json]
        switch json {
        case .array(let elements): return elements.flatMap { objects(with: name, in: $0) }
        case .object(let members): return own + members.flatMap { objects(with: name, in: $0.value) }
        default: return []
        }
    }
}
