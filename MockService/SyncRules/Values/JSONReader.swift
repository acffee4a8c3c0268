import PowerSyncWire

/// Reads JSON in texts of rows and requests (service 6.10); numbers stay as they are spelled.
///
/// Half of a surrogate pair, which JavaScript takes, is U+FFFD: a text of Swift cannot hold it.
package enum JSONReader {
    /// How deep arrays and objects may be nested.
    package static let depth = 200
    /// How many values one text may have: each takes up to a hundred bytes, however few it is written with.
    package static let values = 1_000_000

    /// Reads a text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - refusesDuplicates: Whether a name that occurs twice in one object is an error; else the last one counts.
    /// - Returns: The value; members of an object are in the order of `ordered`.
    /// - Throws: `EvaluationError` if the text is no JSON, or over a limit.
    package static func value(
        of text: String, refusesDuplicates: Bool = true
    ) throws(EvaluationError) -> JSON {
        let limits = JSONLimits(
            depth: depth, numberBytes: LongInteger.digitLimit, values: values,
            refusesDuplicateNames: refusesDuplicates, replacesHalfCharacters: true)
        do throws(WireError) {
            return ordered(try JSON.parse(text, limits: limits))
        } catch {
            let summary = error.code == .tooLarge ? "The JSON is too large." : "The text is no JSON."
            throw EvaluationError(message: "The text is no JSON: \(error.message)", summary: summary)
        }
    }

    /// The same value with members as JavaScript has them: whole numbers by size, then all others; of one name the last
    /// value in the place of the first one.
    package static func ordered(_ value: JSON) -> JSON {
        switch value {
        case .null, .bool, .number, .string: return value
        case .array(let elements): return .array(elements.map(ordered))
        case .object(let members):
            var places: [ExactText: Int] = [:]
            var (indexed, named): ([(index: UInt32, member: JSONMember)], [JSONMember]) = ([], [])
            for member in members {
                let name = ExactText(member.name)
                let kept = JSONMember(member.name, ordered(member.value))
                let index = arrayIndex(member.name)
                if let place = places[name] {
                    if index != nil { indexed[place].member = kept } else { named[place] = kept }
                } else if let index {
                    places[name] = indexed.count
                    indexed.append((index, kept))
                } else {
                    places[name] = named.count
                    named.append(kept)
                }
            }
            return .object(indexed.sorted { $0.index < $1.index }.map(\.member) + named)
        }
    }

    /// The number that a name spells, as JavaScript spells indexes of an array; nil for any other name.
    static func arrayIndex(_ name: String) -> UInt32? {
        guard let first = name.utf8.first, (0x30...0x39).contains(first), name.utf8.count <= 10,
            first != 0x30 || name.utf8.count == 1, let index = UInt32(name), index < UInt32.max
        else { return nil }
        return index
    }
}

extension ScalarValue {
    /// Takes a value of JSON over: booleans are 1 and 0, arrays and objects JSON text.
    ///
    /// - Parameters:
    ///   - json: The value.
    ///   - spellsNull: Whether `null` is the text `null` and not NULL, as without `fixed_json_extract`.
    init(_ json: JSON, spellsNull: Bool = false) {
        switch json {
        case .null: self = spellsNull ? ScalarValue(text: "null") : .null
        case .bool(let holds): self.init(holds)
        case .number(let spelling): self.init(number: spelling)
        case .string(let text): self.init(text: text)
        case .array, .object: self.init(text: json.text)
        }
    }

    /// Takes a number of JSON over: an integer if it is spelled as one, else a double.
    private init(number spelling: String) {
        if let integer = ScalarValue(digits: spelling) {
            self = integer
        } else {
            // A number that is too large for a double has the infinite one, as in JavaScript.
            self = .real(Double(spelling) ?? (spelling.hasPrefix("-") ? -.infinity : .infinity))
        }
    }
}
