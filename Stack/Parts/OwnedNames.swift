#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The names of what one run makes on a Postgres server, so that the next run can tell what a killed one left.
///
/// A run holds a connection whose `application_name` carries its token for as long as it lives; a slot or
/// database of a token that no connection carries belongs to nobody any more.
package struct OwnedNames: Sendable, Hashable {
    static let prefix = "powersync_stack_"
    static let applicationPrefix = "powersync-stack/"

    /// Twelve hexadecimal digits, in lower case.
    package let token: String

    /// Makes names of a new random token.
    package init() {
        token = UUID().uuidString.lowercased().filter { $0 != "-" }.prefix(12).description
    }

    private init(token: String) { self.token = token }

    /// Reads the token of a slot or database name of ours; nil for every other name.
    package init?(reading name: String) {
        guard name.hasPrefix(Self.prefix) else { return nil }
        let token = name.dropFirst(Self.prefix.count).prefix(12)
        let rest = name.dropFirst(Self.prefix.count + 12)
        guard token.count == 12, token.allSatisfy({ "0123456789abcdef".contains($0) }),
            rest.isEmpty || rest.first == "_"
        else { return nil }
        self.init(token: String(token))
    }

    /// The name of the run's own database.
    package var database: String { Self.prefix + token }

    /// What the names of the run's slots begin with.
    package var slotPrefix: String { Self.prefix + token + "_" }

    /// The `application_name` of the connection that makes the run's own database.
    var makerName: String { applicationName + "/maker" }

    /// The `application_name` of the service's connections.
    package var serviceName: String { applicationName + "/service" }

    /// The `application_name` of the connection that the run holds.
    package var applicationName: String { Self.applicationPrefix + token }
}
