/// What a case says of a backend (backend 9.1).
package enum ContractVerdict: Sendable, Hashable, CustomStringConvertible {
    /// The backend does as the contract says.
    case passed
    /// It does not; the text says where.
    case failed(String)
    /// It accepts what was sent and stores something else: worse than a refusal, for nobody notices.
    case unsafe(String)
    /// The case asks for what this backend does not promise, or what cannot be seen; the text says what.
    case notApplicable(String)

    /// The verdict in words.
    package var description: String {
        switch self {
        case .passed: "passed"
        case .failed(let why): "failed: \(why)"
        case .unsafe(let why): "unsafe: \(why)"
        case .notApplicable(let why): "not applicable: \(why)"
        }
    }
}
