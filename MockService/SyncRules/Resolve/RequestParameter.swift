import PowerSyncWire

/// A value that a request brings along (service 2.4).
package struct RequestParameter: Sendable, Hashable {
    /// Where it comes from.
    package enum Source: String, Sendable, Hashable, CaseIterable {
        /// The token's payload.
        case auth
        /// The parameters of the connection.
        case connection
        /// The parameters of the subscription.
        case subscription
        /// The `parameters` of the token's payload, of editions 1 and 2 alone; no function is of this schema.
        case tokenParameters = "token_parameters"
    }

    /// Where it comes from.
    package let source: Source
    /// The keys that lead to it; none for the whole object.
    package let path: [ExactText]

    /// Makes a parameter of its parts.
    package init(_ source: Source, path: [ExactText]) {
        self.source = source
        self.path = path
    }

    /// Reads the argument of `parameter(…)`: a path if it begins with `$`, else one key (service 2.4).
    package init(_ source: Source, argument: String) {
        guard argument.utf8.first == UInt8(ascii: "$") else {
            self.init(source, path: [ExactText(argument)])
            return
        }
        // Not by characters: a point with an accent behind it is a point, too.
        let scalars = argument.unicodeScalars
        let keys = scalars.split(separator: ".", omittingEmptySubsequences: false).dropFirst()
        self.init(source, path: keys.map { ExactText(String($0)) })
    }

    /// The `sub` of the token.
    package static let userID = RequestParameter(.auth, argument: "sub")
}
