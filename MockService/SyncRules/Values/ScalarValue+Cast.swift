import PowerSyncWire

extension ScalarValue {
    /// The value as another type, in the default engine (service 6.12); NULL stays NULL.
    ///
    /// - Throws: `EvaluationError` for a double without an integer, and for an integer of too many digits.
    package func cast(to type: CastType) throws(EvaluationError) -> ScalarValue {
        guard let text = textForm else { return .null }
        switch type {
        case .text: return ScalarValue(text: text)
        case .blob: return .blob(byteForm ?? [])
        case .integer: return try integerForm(text)
        case .numeric: return try numberForm(text)
        case .real: return .real(realForm(text))
        }
    }

    /// A double is the integer not above it; a text has the digits that it begins with, or 0.
    private func integerForm(_ text: String) throws(EvaluationError) -> ScalarValue {
        switch self {
        case .integer, .wide: return self
        case .real(let real):
            let whole = real.rounded(.down)
            if let integer = Int64(exactly: whole) { return .integer(integer) }
            guard let wide = WideInteger(wholeNumber: whole) else {
                throw EvaluationError(message: "A number that is not finite has no integer.")
            }
            return .wide(wide)
        case .null, .text, .blob: return try LeadingNumber(text)?.integer ?? .integer(0)
        }
    }

    private func numberForm(_ text: String) throws(EvaluationError) -> ScalarValue {
        switch self {
        case .integer, .wide, .real: return self
        case .null, .text, .blob: return try LeadingNumber(text)?.number ?? .integer(0)
        }
    }

    private func realForm(_ text: String) -> Double {
        switch self {
        case .integer(let integer): Double(integer)
        case .wide(let integer): integer.real
        case .real(let real): real
        case .null, .text, .blob: LeadingNumber(text)?.real ?? 0
        }
    }
}
