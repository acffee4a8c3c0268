import PowerSyncSyncRules
import PowerSyncWire

/// Writes the schema of an app and its streams in Swift, as the official command-line tool does.
enum SwiftSchema {
    /// Writes a source file.
    ///
    /// - Parameters:
    ///   - schema: The tables on clients.
    ///   - streams: All streams; those that clients get without asking, and bucket definitions, are left out.
    /// - Returns: The text, with an end of line behind its last one.
    static func text(_ schema: ClientSchema, streams: [StreamPlan]) -> String {
        var lines = ["import PowerSync", "", "let schema = Schema("]
        for (index, table) in schema.tables.enumerated() {
            lines += self.lines(table)
            lines.append(index + 1 < schema.tables.count ? "  )," : "  )")
        }
        lines += [
            ")", "", "struct TypedSyncStreams {", "    private var db: PowerSyncDatabaseProtocol",
            "    init(_ db: PowerSyncDatabaseProtocol) {", "        self.db = db", "    }",
        ]
        // The property is a name of the type, too.
        var names = SwiftNames(taken: ["db"])
        for stream in streams where !stream.isDefault && !stream.isLegacy {
            lines += self.lines(stream, name: names.name(for: stream.name.text))
        }
        return (lines + ["}", ""]).joined(separator: "\n")
    }

    /// A table without its last parenthesis; the id, which every table has, is not declared.
    private static func lines(_ table: ClientSchema.Table) -> [String] {
        let columns = table.columns.filter { $0.name != ExactText("id") }
            .map { "        .\(function(for: $0.type))(\(literal($0.name.text)))" }
        let list = columns.isEmpty ? [] : [columns.joined(separator: ",\n")]
        return ["  Table(", "    name: \(literal(table.name.text)),", "    columns: ["] + list + ["    ]"]
    }

    /// The function that declares a column; what may be of two types, and bytes, are kept as texts.
    private static func function(for type: ValueType) -> String {
        switch type.subtracting(.null) {
        case .integer: "integer"
        case .real: "real"
        default: "text"
        }
    }

    private static func lines(_ stream: StreamPlan, name: String) -> [String] {
        // The property is read behind the parameters.
        var names = SwiftNames(taken: ["db"])
        let parameters = stream.subscriptionParameters.map { key in
            (key: literal(key.text), name: names.name(for: key.text))
        }
        let list = parameters.map { "\($0.name): JsonValue" }.joined(separator: ", ")
        let values = parameters.map { "\($0.key): \($0.name)" }.joined(separator: ", ")
        let arguments = "name: \(literal(stream.name.text)), params: [\(values.isEmpty ? ":" : values)]"
        return [
            "    func \(name)(\(list)) -> SyncStream {",
            "        return db.syncStream(\(arguments))", "    }",
        ]
    }

    /// A text as a literal of Swift.
    private static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            default:
                let isPlain = scalar.properties.generalCategory != .control
                literal += isPlain ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return literal + "\""
    }
}

/// Names of Swift made of names of a configuration, each once.
struct SwiftNames {
    /// The words that are no names without backticks; `await` is one where it is declared, but not where it is read.
    private static let keywords: Set<String> = [
        "Any", "Self", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue",
        "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false",
        "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let",
        "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return",
        "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
        "typealias", "var", "where", "while",
    ]

    private var taken: Set<String>

    /// Begins with names that are not to be used.
    init(taken: Set<String>) { self.taken = taken }

    /// Makes a name: what no name may have becomes an underscore, a second one of a name gets a number.
    mutating func name(for text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            let isPart = scalar == "_" || scalar.properties.isXIDContinue
            plain += isPart ? String(scalar) : "_"
        }
        let first = plain.unicodeScalars.first
        if first.map({ $0 != "_" && !$0.properties.isXIDStart }) ?? true { plain = "_" + plain }
        // An underscore alone is a pattern.
        if plain == "_" { plain = "__" }
        var name = plain
        var number = 2
        while !taken.insert(name).inserted {
            name = "\(plain)\(number)"
            number += 1
        }
        return Self.keywords.contains(name) ? "`\(name)`" : name
    }
}
