import Foundation
import PowerSyncTestSupport
import Testing

/// A function of `public` for exactly the types of a call is taken before one of `pg_catalog` for any type: whoever may make
/// one there would have it called by the backend, or by who migrates.
struct QualifiedNamesTests {
    /// Functions for any type, or for others than those that they are called with.
    private static let names = [
        "unnest", "concat", "concat_ws", "string_agg", "array_agg", "pg_advisory_xact_lock",
        "hashtextextended",
        "pg_column_size", "convert_to", "make_interval",
    ]

    /// The calls of a text that name no schema, as far as each needs one.
    private static func unqualified(_ text: Substring) -> [String] {
        var found: [String] = []
        for name in names {
            var rest = text
            while let range = rest.firstRange(of: name + "(") {
                let before = rest[..<range.lowerBound]
                rest = rest[range.upperBound...]
                if let last = before.last, last.isLetter || last.isNumber || last == "_" { continue }
                // What begins with a dot is a method in Swift.
                if before.hasSuffix(".") || before.hasSuffix("func ") { continue }
                // That of several arrays is no function, and has no schema.
                let arguments = rest.prefix { $0 != ")" }
                if name == "unnest", arguments.contains(",") || arguments.hasPrefix("\\(") { continue }
                found.append("\(name)(\(arguments))")
            }
        }
        return found
    }

    @Test func whatIsUnqualifiedIsFound() {
        #expect(Self.unqualified("FROM unnest($1::text[]) AS u") == ["unnest($1::text[])"])
        #expect(Self.unqualified("SELECT pg_advisory_xact_lock(7)") == ["pg_advisory_xact_lock(7)"])
        #expect(Self.unqualified("unnest($1::text[], $2::text[]), pg_catalog.concat('a')").isEmpty)
    }

    @Test func functionsForAnyTypeAreThoseOfTheCatalog() throws {
        let folder = Repository.root.appending(path: "Backend")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects
        var count = 0
        for case let file as URL in files ?? [] where file.pathExtension == "swift" {
            // Migrations run without public, and are not changed any more.
            if file.lastPathComponent.hasPrefix("BackendSchema") { continue }
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                #expect(Self.unqualified(line).isEmpty, "\(file.lastPathComponent): \(line)")
            }
            count += 1
        }
        #expect(count > 100)
    }
}
