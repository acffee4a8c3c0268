import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncWire

/// Diagnostics as the Static Analysis Results Interchange Format has them (SARIF 2.1.0, OASIS).
enum SARIF {
    private static let schema = "https://json.schemastore.org/sarif-2.1.0.json"

    /// A log with one run.
    ///
    /// - Parameters:
    ///   - diagnostics: What is wrong.
    ///   - file: The file, as it was named.
    /// - Returns: The log.
    static func log(_ diagnostics: [PlacedDiagnostic], file: String) -> JSON {
        let driver = JSON.object([
            JSONMember("name", .string("powersync-stack")),
            JSONMember("version", .string(PackageVersion.current)),
            JSONMember("rules", .array(DiagnosticName.allCases.map(rule))),
        ])
        let run = JSON.object([
            JSONMember("tool", .object([JSONMember("driver", driver)])),
            // A column is a character (SARIF 3.14.17).
            JSONMember("columnKind", .string("unicodeCodePoints")),
            JSONMember("results", .array(diagnostics.map { result($0, uri: uri(file)) })),
        ])
        return .object([
            JSONMember("$schema", .string(schema)), JSONMember("version", .string("2.1.0")),
            JSONMember("runs", .array([run])),
        ])
    }

    /// A name as a rule; all are listed, whatever was found.
    private static func rule(_ name: DiagnosticName) -> JSON {
        let level = JSONMember("level", .string(name.severity.level))
        return .object([
            JSONMember("id", .string(name.rawValue)),
            JSONMember("shortDescription", text(description(of: name))),
            JSONMember("defaultConfiguration", .object([level])),
        ])
    }

    private static func description(of name: DiagnosticName) -> String {
        switch name {
        case .yamlSyntax: "The text is no YAML."
        case .sqlSyntax: "The query is no SQL of this language."
        case .sqlUnexpectedEnd: "The query ends too early."
        case .constantFails: "A constant expression has no value."
        default: name.text.replacing("{}", with: "…")
        }
    }

    private static func result(_ diagnostic: PlacedDiagnostic, uri: String) -> JSON {
        let region = JSON.object([
            JSONMember("startLine", .integer(diagnostic.start.line)),
            JSONMember("startColumn", .integer(diagnostic.start.column)),
            JSONMember("endLine", .integer(diagnostic.end.line)),
            JSONMember("endColumn", .integer(diagnostic.end.column)),
            JSONMember("byteOffset", .integer(diagnostic.range.start)),
            JSONMember("byteLength", .integer(diagnostic.range.end - diagnostic.range.start)),
        ])
        let place = JSON.object([
            JSONMember("artifactLocation", .object([JSONMember("uri", .string(uri))])),
            JSONMember("region", region),
        ])
        return .object([
            JSONMember("ruleId", .string(diagnostic.name.rawValue)),
            JSONMember("level", .string(diagnostic.severity.level)),
            JSONMember("message", text(diagnostic.message)),
            JSONMember("locations", .array([.object([JSONMember("physicalLocation", place)])])),
        ])
    }

    private static func text(_ text: String) -> JSON { .object([JSONMember("text", .string(text))]) }

    /// A path as a URI: relative ones stay so (RFC 3986, 3.3 and 4.2).
    private static func uri(_ path: String) -> String {
        let encoded = path.utf8.map { byte -> String in
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-_.~/".utf8.contains(byte)
                }
            if isPlain { return String(UnicodeScalar(byte)) }
            return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return (path.hasPrefix("/") ? "file://" : "") + encoded.joined()
    }
}
