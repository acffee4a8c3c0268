/// Which functions an edition has, and how many arguments they take (LANGUAGE.md 7).
extension Function {
    /// How many arguments it takes.
    package var arity: ClosedRange<Int> {
        switch self {
        case .upper, .lower, .length, .hex, .base64, .uuidBlob, .typeof, .jsonKeys, .jsonValid, .geoJSON,
            .geometryText, .pointX, .pointY:
            1...1
        case .substring, .substr: 2...3
        case .instr: 2...2
        case .ifnull, .jsonExtract: 2...Int.max
        case .iif: 3...3
        case .jsonArrayLength: 1...2
        case .unixepoch, .datetime: 0...Int.max
        }
    }

    /// Whether edition 3 has it.
    ///
    /// - Parameter engine: The rules that expressions are evaluated by.
    package func isInEdition3(_ engine: Engine) -> Bool {
        switch self {
        case .jsonValid: false
        case .substr: engine == .sqlite
        default: true
        }
    }

    /// Functions of SQLite whose values depend on something else than their arguments.
    package static let volatileNames: Set<String> = ["random"]
}
