import PowerSyncSyncRules
import PowerSyncWire

/// Diagnostics for programs.
enum DiagnosticJSON {
    /// What is wrong with a file; places as those of a text editor, and the bytes of the file.
    ///
    /// - Parameters:
    ///   - diagnostics: What is wrong.
    ///   - file: The file.
    /// - Returns: One object.
    static func object(_ diagnostics: [PlacedDiagnostic], file: String) -> JSON {
        .object([
            JSONMember("file", .string(file)),
            JSONMember("diagnostics", .array(diagnostics.map(object))),
        ])
    }

    private static func object(_ diagnostic: PlacedDiagnostic) -> JSON {
        .object([
            JSONMember("name", .string(diagnostic.name.rawValue)),
            JSONMember("severity", .string(diagnostic.severity.level)),
            JSONMember("message", .string(diagnostic.message)),
            JSONMember("line", .integer(diagnostic.start.line)),
            JSONMember("column", .integer(diagnostic.start.column)),
            JSONMember("endLine", .integer(diagnostic.end.line)),
            JSONMember("endColumn", .integer(diagnostic.end.column)),
            JSONMember("start", .integer(diagnostic.range.start)),
            JSONMember("end", .integer(diagnostic.range.end)),
        ])
    }
}
