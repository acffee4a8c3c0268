/// A decimal number read from its spelling without rounding: digits × 10^exponent.
///
/// Doubles would damage what clients send: 9007199254740993 and numerics of 25 digits (backend 2.4).
package struct DecimalText: Sendable, Hashable {
    /// The most characters of a number, and the largest size of its exponent (backend 7, number 10).
    package static let limit = 400

    /// At least as many characters as Postgres prints of the number, which keeps zeros behind the point.
    package let printedLength: Int
    private let isNegative: Bool
    /// The significant digits: no zero in front, none behind, empty for zero.
    private let digits: [UInt8]
    private let exponent: Int

    /// Reads `[+-]digits[.digits][e[+-]digits]`; nil for every other text and beyond the limits.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= DecimalText.limit else { return nil }
        var bytes = Array(text.utf8)[...]
        var isNegative = false
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            isNegative = sign == UInt8(ascii: "-")
            bytes.removeFirst()
        }
        let whole = bytes.prefix(while: DecimalText.isDigit)
        bytes = bytes.dropFirst(whole.count)
        var fraction: ArraySlice<UInt8> = []
        if bytes.first == UInt8(ascii: ".") {
            fraction = bytes.dropFirst().prefix(while: DecimalText.isDigit)
            bytes = bytes.dropFirst(1 + fraction.count)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        var written = 0
        if let mark = bytes.first, mark | 0x20 == UInt8(ascii: "e") {
            guard let number = Int(String(decoding: bytes.dropFirst(), as: UTF8.self)),
                // Not by the absolute value: the smallest integer has none.
                (-DecimalText.limit...DecimalText.limit).contains(number)
            else { return nil }
            written = number
        } else if !bytes.isEmpty {
            return nil
        }
        let places = max(0, fraction.count - written)
        printedLength = 1 + max(1, whole.count + max(0, written)) + (places > 0 ? 1 + places : 0)
        var exponent = written - fraction.count
        var digits = Array((whole + fraction).drop { $0 == UInt8(ascii: "0") })
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        self.isNegative = isNegative && !digits.isEmpty
        self.digits = digits
        self.exponent = digits.isEmpty ? 0 : exponent
    }

    /// Whether a text is a number for Postgres that this type refuses for its size.
    package static func isBeyondLimits(_ text: some StringProtocol) -> Bool {
        var rest = Array(text.utf8)[...]
        func passDigits() -> Int {
            let digits = rest.prefix(while: isDigit).count
            rest = rest.dropFirst(digits)
            return digits
        }
        func pass(_ characters: String) -> Bool {
            guard let byte = rest.first, characters.utf8.contains(byte) else { return false }
            rest.removeFirst()
            return true
        }
        _ = pass("+-")
        var digits = passDigits()
        if pass(".") { digits += passDigits() }
        guard digits > 0 else { return false }
        if pass("eE") {
            _ = pass("+-")
            guard passDigits() > 0 else { return false }
        }
        return rest.isEmpty && DecimalText(text) == nil
    }

    /// Returns whether `DecimalText(text)` is one, of a number without exponent without making it.
    package static func isNumber(_ text: String) -> Bool {
        var (digits, points, isPlain) = (0, 0, text.utf8.count <= limit)
        var rest = text.utf8[...]
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            rest.removeFirst()
        }
        for byte in rest where isPlain {
            if isDigit(byte) { digits += 1 } else { points += 1 }
            isPlain = isDigit(byte) || byte == UInt8(ascii: ".") && points == 1
        }
        return isPlain && digits > 0 || DecimalText(text) != nil
    }

    /// Returns whether a text is digits with at most one point between them, behind a minus or none, and so few of them that
    /// every reader of doubles reads a finite number.
    package static func isShort(_ text: String) -> Bool {
        guard (1...100).contains(text.utf8.count) else { return false }
        let isShort = text.utf8.withContiguousStorageIfAvailable { bytes in
            var (hasPoint, isBehindDigit) = (false, false)
            for place in (bytes[0] == UInt8(ascii: "-") ? 1 : 0)..<bytes.count {
                if isDigit(bytes[place]) {
                    isBehindDigit = true
                } else if bytes[place] == UInt8(ascii: "."), isBehindDigit, !hasPoint {
                    (hasPoint, isBehindDigit) = (true, false)
                } else {
                    return false
                }
            }
            return isBehindDigit
        }
        return isShort ?? false
    }

    /// Returns `DecimalText(text)?.integer`, of a number without point and exponent as fast as it can be read.
    package static func integer(of text: String) -> Int64? {
        // Of longer ones only this type knows which are too long.
        if text.utf8.count <= 20, let number = Int64(text) { return number }
        return DecimalText(text)?.integer
    }

    /// The integer, if the number is whole and fits: `12`, `12.0` and `1.2e1` are the same.
    package var integer: Int64? { exponent >= 0 ? rounded(timesTenTo: 0) : nil }

    /// Returns the whole number nearest to this one times a power of ten, if it fits; halves go away from zero.
    package func rounded(timesTenTo power: Int) -> Int64? {
        let exponent = exponent + power
        guard exponent < 0 else {
            guard digits.count + exponent <= 19 else { return nil }
            return value(digits, zeros: exponent)
        }
        let kept = digits.count + exponent
        guard kept >= 0, let next = digits.dropFirst(kept).first else { return 0 }
        guard kept <= 18, let whole = value(digits.prefix(kept), zeros: 0) else { return nil }
        return next < UInt8(ascii: "5") ? whole : whole + (isNegative ? -1 : 1)
    }

    private func value(_ digits: some Sequence<UInt8>, zeros: Int) -> Int64? {
        let text = String(decoding: Array(digits), as: UTF8.self) + String(repeating: "0", count: zeros)
        return Int64((isNegative ? "-" : "") + (text.isEmpty ? "0" : text))
    }

    /// One spelling for all spellings of the number.
    package var canonical: String {
        (isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self) + "e" + String(exponent)
    }

    /// Whether the number has more places behind the point than these; below zero, more digits in front of it.
    package func exceeds(scale: Int) -> Bool { !digits.isEmpty && -exponent > scale }

    /// Returns the number as Postgres prints it in a column of that scale; nil where the column would round it.
    package func text(scale: Int?) -> String? {
        if let scale, exceeds(scale: scale) { return nil }
        let places = max(0, scale ?? -exponent)
        var text = digits + Array(repeating: UInt8(ascii: "0"), count: places + exponent)
        if text.count <= places {
            text.insert(
                contentsOf: Array(repeating: UInt8(ascii: "0"), count: places + 1 - text.count), at: 0)
        }
        if places > 0 { text.insert(UInt8(ascii: "."), at: text.count - places) }
        return (isNegative ? "-" : "") + String(decoding: text, as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
