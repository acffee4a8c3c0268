import PowerSyncWire

/// The rows of a `json_each` (service 6.10).
package struct JSONElements {
    /// One row.
    package struct Element: Sendable, Hashable {
        /// The index in an array, the name in an object; NULL for a value that is neither.
        package let key: ScalarValue
        /// The element.
        package let value: ScalarValue
    }

    private let isFixed: Bool

    /// Makes rows as the options say: with `fixed_json_extract` a `null` is NULL, else the text `null`.
    package init(options: CompatibilityOptions) { isFixed = options.fixedJSONExtract }

    /// The rows of a value: elements of an array, members of an object, one row for any other value, none for NULL.
    ///
    /// Whole numbers are integers, however they are spelled. All of their digits count, unlike in the real service, whose
    /// integers beyond 2⁵³ would be found by another one (service 12, U7).
    ///
    /// - Throws: `EvaluationError` if the value is neither NULL nor JSON text.
    package func elements(of value: ScalarValue) throws(EvaluationError) -> [Element] {
        if value.isNull { return [] }
        let json = try Self.json(value)
        switch json {
        case .array(let elements):
            return elements.enumerated().map {
                Element(key: .integer(Int64($0.offset)), value: scalar($0.element))
            }
        case .object(let members):
            return members.map { Element(key: ScalarValue(text: $0.name), value: scalar($0.value)) }
        case .null, .bool, .number, .string: return [Element(key: .null, value: scalar(json))]
        }
    }

    private static func json(_ value: ScalarValue) throws(EvaluationError) -> JSON {
        let refusal = EvaluationError(message: "Expected JSON string")
        guard case .text(let text) = value else { throw refusal }
        do throws(EvaluationError) {
            return try JSONReader.value(of: text.text, refusesDuplicates: false)
        } catch {
            throw refusal
        }
    }

    private func scalar(_ json: JSON) -> ScalarValue {
        let value = ScalarValue(json, spellsNull: !isFixed)
        guard case .real(let real) = value, let integer = Int64(exactly: real) else { return value }
        return .integer(integer)
    }
}
