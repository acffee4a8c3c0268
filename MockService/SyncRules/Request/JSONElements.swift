import PowerSyncWire

/// The rows of a `json_each` (service 6.10).
package enum JSONElements {
    /// One row.
    package struct Element: Sendable, Hashable {
        /// The index, the name of the member, or NULL for a JSON text that is one scalar.
        package let key: ScalarValue
        /// The value; arrays and objects as JSON text.
        package let value: ScalarValue

        /// Makes a row of both.
        package init(key: ScalarValue, value: ScalarValue) {
            self.key = key
            self.value = value
        }

        /// A column of the row.
        package func part(_ part: ElementPart) -> ScalarValue {
            switch part {
            case .key: key
            case .value: value
            }
        }
    }

    /// Reads a JSON text.
    ///
    /// - Parameters:
    ///   - value: The text; NULL has no rows.
    ///   - isNullText: Whether an element `null` is the text of that name, as without `fixed_json_extract`.
    /// - Returns: The rows in order; of members of one name the last one, in the place of the first.
    /// - Throws: `EvaluationError` for a number, a BLOB, and a text that is no JSON.
    package static func read(
        _ value: ScalarValue, isNullText: Bool = false
    ) throws(EvaluationError) -> [Element] {
        let text: String
        switch value {
        case .null: return []
        case .text(let value): text = value.text
        case .integer, .wide, .real, .blob: throw notJSON
        }
        let json: JSON
        do throws(WireError) {
            // A number may be as long as the text: integers have no end.
            json = try JSON.parse(text, limits: JSONLimits(depth: 200, numberBytes: .max))
        } catch {
            throw notJSON
        }
        switch json {
        case .array(let elements):
            return elements.enumerated().map { index, element in
                Element(key: .integer(Int64(index)), value: scalar(element, isNullText: isNullText))
            }
        case .object(let members):
            var places: [ExactText: Int] = [:]
            var rows: [Element] = []
            for member in members {
                let name = ExactText(member.name)
                let row = Element(key: .text(name), value: scalar(member.value, isNullText: isNullText))
                if let place = places[name] {
                    rows[place] = row
                } else {
                    places[name] = rows.count
                    rows.append(row)
                }
            }
            return rows
        default: return [Element(key: .null, value: scalar(json, isNullText: isNullText))]
        }
    }

    /// The value of SQL that a JSON value is: texts and numbers as such, true and false as 1 and 0.
    static func scalar(_ json: JSON, isNullText: Bool = false) -> ScalarValue {
        switch json {
        case .null: isNullText ? ScalarValue(text: "null") : .null
        case .bool(let bool): ScalarValue(bool)
        case .number(let lexeme): ScalarValue(digits: lexeme) ?? .real(Double(lexeme) ?? .nan)
        case .string(let text): ScalarValue(text: text)
        case .array, .object: ScalarValue(text: json.text)
        }
    }

    private static let notJSON = EvaluationError(message: "Expected JSON string")
}
