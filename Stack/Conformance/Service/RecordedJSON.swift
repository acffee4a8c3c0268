import PowerSyncCrypto
import PowerSyncWire

/// Reads JSON of the real service, and compares its texts.
package enum RecordedJSON {
    /// Reads JSON, also where bare words stand for what is no number (service 3.14 D5).
    ///
    /// - Parameter bytes: UTF-8.
    /// - Returns: the value; a bare `NaN`, `Infinity` or `-Infinity` is the text of that name.
    /// - Throws: `WireError` for everything else that is no JSON.
    package static func parse(_ bytes: [UInt8]) throws(WireError) -> JSON {
        do throws(WireError) {
            return try JSON.parse(bytes)
        } catch {
            let quoted = quotingBareWords(bytes)
            guard quoted.count != bytes.count else { throw error }
            return try JSON.parse(quoted)
        }
    }

    private static let bareWords = ["NaN", "Infinity", "-Infinity"].map { Array($0.utf8) }

    private static func quotingBareWords(_ bytes: [UInt8]) -> [UInt8] {
        let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 64)
        var isQuoted = false
        var index = 0
        while index < bytes.count {
            if !isQuoted, let word = bareWords.first(where: { bytes[index...].starts(with: $0) }) {
                result += [quote] + word + [quote]
                index += word.count
                continue
            }
            let byte = bytes[index]
            if byte == quote { isQuoted.toggle() }
            // What is escaped, a quote for instance, ends nothing.
            let count = byte == backslash && index + 1 < bytes.count ? 2 : 1
            result += bytes[index..<index + count]
            index += count
        }
        return result
    }

    /// Returns one spelling for all that counts as equal: a text over 2,000 characters is recorded by its length and
    /// digest alone, and numbers of nested data went through another program.
    ///
    /// - Parameter value: the `data` of an operation, recorded or received.
    /// - Returns: the text of `data`; its length and SHA-256 if it is long; compact JSON behind the word `nested` if it
    ///   is none.
    package static func canonical(_ value: JSON) -> String {
        if case .string(let text) = value {
            let characters = text.unicodeScalars.count
            return characters > 2000 ? long(characters, hexadecimal(Digest.sha256(Array(text.utf8)))) : text
        }
        if let long = value["$long"], let count = long["characters"]?.int64Value,
            let digest = long["sha256"]?.stringValue
        {
            return Self.long(Int(count), digest)
        }
        return "nested " + withPlainNumbers(value).text
    }

    private static func long(_ characters: Int, _ digest: String) -> String {
        "a text of \(characters) characters with SHA-256 \(digest)"
    }

    /// Puts texts in the place of their length and digest, for what is sent.
    ///
    /// - Parameter value: JSON of a recording.
    /// - Returns: the same with long texts spelled out.
    /// - Throws: `StackError` with `.file` for a long text that is not one letter again and again.
    static func spellingOut(_ value: JSON) throws(StackError) -> JSON {
        if let long = value["$long"], let count = long["characters"]?.int64Value {
            for letter in "abcdefghijklmnopqrstuvwxyz" {
                let text = JSON.string(String(repeating: letter, count: Int(count)))
                if canonical(text) == canonical(value) { return text }
            }
            throw StackError(.file, "a long text of which only the digest is known cannot be sent")
        }
        switch value {
        case .array(let elements):
            var result: [JSON] = []
            for element in elements { result.append(try spellingOut(element)) }
            return .array(result)
        case .object(let members):
            var result: [JSONMember] = []
            for member in members { result.append(JSONMember(member.name, try spellingOut(member.value))) }
            return .object(result)
        default: return value
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func withPlainNumbers(_ value: JSON) -> JSON {
        switch value {
        case .number(let lexeme):
            // Whole numbers are exact in any program; what has a point or an exponent is a double.
            guard lexeme.contains(where: { ".eE".contains($0) }), let double = Double(lexeme) else {
                return value
            }
            return .number("\(double)")
        case .array(let elements): return .array(elements.map(withPlainNumbers))
        case .object(let members):
            return .object(members.map { JSONMember($0.name, withPlainNumbers($0.value)) })
        default: return value
        }
    }
}
