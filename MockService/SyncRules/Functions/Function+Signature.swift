/// How a function is called (service 6.10).
package struct FunctionSignature: Sendable, Hashable {
    /// How many arguments there must be in edition 3; the older ones take any number.
    package let arguments: ClosedRange<Int>
    /// What it may give, NULL aside; nil if that is what its arguments may.
    package let type: ValueType?
    /// The editions that know it in the default engine.
    package let editions: ClosedRange<Int>
    /// Whether the SQLite engine alone has it.
    package let isSQLiteOnly: Bool

    init(
        _ arguments: ClosedRange<Int>, _ type: ValueType?, editions: ClosedRange<Int> = 1...3,
        isSQLiteOnly: Bool = false
    ) {
        self.arguments = arguments
        self.type = type
        self.editions = editions
        self.isSQLiteOnly = isSQLiteOnly
    }
}

extension Function {
    /// How the function is called.
    package var signature: FunctionSignature {
        switch self {
        case .upper, .lower, .hex, .base64, .typeof, .jsonKeys, .geoJSON, .geometryText:
            FunctionSignature(1...1, .text)
        case .length: FunctionSignature(1...1, .integer)
        case .substring: FunctionSignature(2...3, .text)
        case .substr: FunctionSignature(2...3, .text, isSQLiteOnly: true)
        case .instr: FunctionSignature(2...2, .integer)
        case .uuidBlob: FunctionSignature(1...1, .blob)
        case .ifnull: FunctionSignature(2...Int.max, nil)
        case .iif: FunctionSignature(3...3, nil)
        case .jsonExtract: FunctionSignature(2...Int.max, .any)
        case .jsonArrayLength: FunctionSignature(1...2, .integer)
        case .jsonValid: FunctionSignature(1...1, .integer, editions: 1...2)
        case .unixepoch: FunctionSignature(0...Int.max, [.integer, .real])
        case .datetime: FunctionSignature(0...Int.max, .text)
        case .pointX, .pointY: FunctionSignature(1...1, .real)
        }
    }

    /// Whether edition 3 has it.
    ///
    /// - Parameter engine: The rules that expressions are evaluated by.
    /// - Returns: Whether it may be called.
    package func isInEdition3(_ engine: Engine) -> Bool {
        signature.editions.contains(3) && (!signature.isSQLiteOnly || engine == .sqlite)
    }

    /// Functions of SQLite whose values depend on something else than their arguments.
    package static let volatileNames: Set<String> = ["random"]
}
