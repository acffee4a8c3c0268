/// Texts as an error or a log line may show them.
enum ShownText {
    private static let keyPragmas: Set = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"]

    /// Cuts SQL off before the key of an encrypted file.
    ///
    /// - Parameter sql: the SQL text.
    /// - Returns: what stands before the key; nil for SQL that sets none.
    static func sqlWithoutKey(_ sql: String) -> String? {
        let words = sql.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        guard words.contains(where: { ["pragma", "attach"].contains($0.lowercased()) }),
            let key = words.first(where: { keyPragmas.contains($0.lowercased()) })
        else { return nil }
        return "\(sql[..<key.endIndex]) …"
    }

    /// Returns an address without the name and the password that may stand before its host.
    static func address(_ address: String) -> String {
        guard let scheme = address.firstRange(of: "://") else { return address }
        let authority = address[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard let end = authority.lastIndex(of: "@") else { return address }
        return "\(address[..<scheme.upperBound])\(address[address.index(after: end)...])"
    }
}
