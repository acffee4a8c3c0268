import Foundation
import PowerSyncTestSupport
import PowerSyncWire

/// The recordings of the real service.
enum ServiceRecordings {
    /// One scenario by its name.
    static func scenario(_ name: String) throws -> JSON {
        try parse(Repository.text("Tests/Fixtures/service/curated/\(name).json"))
    }

    /// All scenarios with their names.
    static func scenarios() throws -> [(name: String, json: JSON)] {
        try Repository.fixtureFiles("service/curated").map { file in
            let name = file.deletingPathExtension().lastPathComponent
            return (name, try scenario(name))
        }
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
