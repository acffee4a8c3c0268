import PowerSyncWire

/// How messages spell what a row is matched with: `bucket.k`, `operator->>(request.jwt(),"org")` (as recorded).
struct ParameterSpelling {
    /// The query.
    let text: QueryText

    /// The spelling of an expression; equal spellings are the same parameter.
    func spelling(_ syntax: ExpressionSyntax) -> String {
        switch syntax.content {
        case .column(let qualifier, let name):
            return (qualifier.map { "\($0.text.text)." } ?? "") + name.text.text
        case .text(let value): return JSON.quoted(value)
        case .integer(let digits), .real(let digits): return digits
        case .call(let call):
            let schema = call.schema.map { "\($0.text.text.lowercased())." } ?? ""
            return schema + call.name.text.text.lowercased() + list(call.arguments)
        case .binary(let operation, let left, let right):
            return "operator\(operation.rawValue)" + list([left, right])
        default: return String(decoding: text.bytes[syntax.range], as: UTF8.self)
        }
    }

    private func list(_ all: [ExpressionSyntax]) -> String {
        "(\(all.map { spelling($0) }.joined(separator: ",")))"
    }
}
