#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The cases of the contract, as the files of a folder say them.
package struct ContractCatalogue: Sendable {
    /// The cases by their numbers.
    package let cases: [ContractCase]

    /// Reads all files of a folder that end in `.yaml`.
    ///
    /// - Parameter folder: The path of the folder.
    /// - Throws: `ContractError` for an entry that is not as README.md there says, and for a number that stands
    ///   twice; what the system says of a file that cannot be read.
    package init(folder: String) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".yaml") }.sorted()
        try self.init(
            files: names.map { ($0, try String(contentsOfFile: folder + "/" + $0, encoding: .utf8)) })
    }

    /// Reads files that somebody has read.
    ///
    /// - Parameter files: Their names, for errors, and their texts: a list of entries each.
    /// - Throws: `ContractError`.
    package init(files: [(name: String, text: String)]) throws(ContractError) {
        var found: [CaseNumber: ContractCase] = [:]
        for (name, text) in files {
            let reader = CaseReader(source: name)
            for node in try reader.elements(reader.root(text), "cases") {
                let entry = try reader.contractCase(node)
                guard found.updateValue(entry, forKey: entry.number) == nil else {
                    throw reader.error(node, "\(entry.number) stands twice")
                }
            }
        }
        cases = found.values.sorted { $0.number < $1.number }
    }

    /// The case of a number; nil if there is none.
    package subscript(_ number: CaseNumber) -> ContractCase? { cases.first { $0.number == number } }
}
