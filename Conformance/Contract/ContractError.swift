/// Why a case of the contract cannot be read or run, which is no verdict about the backend.
package struct ContractError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of mistake it is.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the code.
        package let rawValue: String

        /// Makes a code of its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// A file of the catalogue or the fixtures is not as README.md there says.
        package static let catalogue = Code(rawValue: "catalogue")
        /// A case names something that neither it nor the fixtures have.
        package static let unknownName = Code(rawValue: "unknownName")
        /// The oracle cannot be asked.
        package static let oracle = Code(rawValue: "oracle")
        /// No token comes of the source of tokens.
        package static let token = Code(rawValue: "token")
        /// A connection by hand cannot be made.
        package static let socket = Code(rawValue: "socket")
    }

    /// What kind of mistake it is.
    package let code: Code
    /// What is wrong and where.
    package let message: String

    /// Makes an error of its parts.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
