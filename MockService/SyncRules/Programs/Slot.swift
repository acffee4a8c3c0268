import PowerSyncWire

/// A value of a row; a text or a blob lies in an arena, an array of bytes that is handed along.
package struct Slot: Sendable, Hashable {
    /// What the value is.
    package enum Kind: UInt8, Sendable {
        /// SQL NULL.
        case null
        /// A signed 64-bit integer.
        case integer
        /// A double.
        case real
        /// UTF-8 text.
        case text
        /// Bytes.
        case blob
        /// A large value that the source left out because it did not change.
        case missing
        /// An integer beyond 64 bits, its decimal digits in the arena.
        case wide
    }

    /// What the value is.
    package let kind: Kind
    /// The number; of what lies in the arena the offset there, and in the lower half the count of bytes.
    package let bits: UInt64

    private init(_ kind: Kind, _ bits: UInt64) {
        self.kind = kind
        self.bits = bits
    }

    /// SQL NULL.
    package static var null: Slot { Slot(.null, 0) }

    /// A value that the source left out.
    package static var missing: Slot { Slot(.missing, 0) }

    /// Makes an integer.
    package init(integer: Int64) { self.init(.integer, UInt64(bitPattern: integer)) }

    /// Makes a double.
    package init(real: Double) { self.init(.real, real.bitPattern) }

    /// Makes 1 or 0.
    package init(_ holds: Bool) { self.init(integer: holds ? 1 : 0) }

    /// Makes a text of where its bytes lie, below 4 GiB.
    package init(text range: Range<Int>) { self.init(.text, Self.bits(range)) }

    /// Makes a blob of where its bytes lie, below 4 GiB.
    package init(blob range: Range<Int>) { self.init(.blob, Self.bits(range)) }

    /// Makes an integer beyond 64 bits of where its digits lie, as `WideInteger` spells them.
    package init(wide range: Range<Int>) { self.init(.wide, Self.bits(range)) }

    private static func bits(_ range: Range<Int>) -> UInt64 {
        UInt64(UInt32(range.lowerBound)) << 32 | UInt64(UInt32(range.count))
    }

    /// The number of an integer.
    package var integer: Int64 { Int64(bitPattern: bits) }

    /// The number of a double.
    package var real: Double { Double(bitPattern: bits) }

    /// Where the bytes of a text, a blob or a wide integer lie.
    package var range: Range<Int> {
        let offset = Int(bits >> 32)
        return offset..<offset + Int(UInt32(truncatingIfNeeded: bits))
    }

    /// The same value in an arena whose bytes begin so much later.
    package func moved(by offset: Int) -> Slot {
        switch kind {
        case .text: Slot(text: range.lowerBound + offset..<range.upperBound + offset)
        case .blob: Slot(blob: range.lowerBound + offset..<range.upperBound + offset)
        case .wide: Slot(wide: range.lowerBound + offset..<range.upperBound + offset)
        case .null, .integer, .real, .missing: self
        }
    }
}

extension Slot {
    /// Takes a value over.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - arena: Gets the bytes of a text, a blob or a wide integer at its end.
    package init(scalar value: ScalarValue, in arena: inout [UInt8]) {
        let start = arena.count
        switch value {
        case .null: self = .null
        case .integer(let integer): self.init(integer: integer)
        case .real(let real): self.init(real: real)
        case .text(let text):
            arena.append(contentsOf: text.text.utf8)
            self.init(text: start..<arena.count)
        case .blob(let bytes):
            arena.append(contentsOf: bytes)
            self.init(blob: start..<arena.count)
        case .wide(let integer):
            arena.append(contentsOf: integer.digits.text.utf8)
            self.init(wide: start..<arena.count)
        }
    }

    /// The value with bytes of its own; NULL for one that was left out.
    ///
    /// - Parameter arena: What texts, blobs and wide integers lie in.
    /// - Returns: The value.
    package func scalar(in arena: [UInt8]) -> ScalarValue {
        switch kind {
        case .null, .missing: .null
        case .integer: .integer(integer)
        case .real: .real(real)
        case .text: .text(ExactText(String(decoding: arena[range], as: UTF8.self)))
        case .blob: .blob(Array(arena[range]))
        // No slot is made of anything but such digits.
        case .wide: ScalarValue(digits: String(decoding: arena[range], as: UTF8.self)) ?? .null
        }
    }

    /// Whether it counts as true (service 6.12): a number that is not 0, a text that begins with one.
    ///
    /// - Parameter arena: What texts lie in.
    /// - Returns: False for NULL and blobs, and for what was left out.
    package func holds(in arena: [UInt8]) -> Bool {
        switch kind {
        case .null, .blob, .missing: false
        case .integer: integer != 0
        case .real: real != 0
        case .wide: true
        case .text: Self.beginsWithNumber(arena, range)
        }
    }

    /// Whether there is a digit other than 0 among those that a text begins with, behind blanks and a sign.
    private static func beginsWithNumber(_ arena: [UInt8], _ range: Range<Int>) -> Bool {
        var index = range.lowerBound
        let end = range.upperBound
        while index < end, arena[index] == 0x20 || arena[index] == 0x09 || arena[index] == 0x0A { index += 1 }
        if index < end, arena[index] == UInt8(ascii: "-") || arena[index] == UInt8(ascii: "+") { index += 1 }
        while index < end, arena[index] == UInt8(ascii: "0") { index += 1 }
        return index < end && arena[index] > UInt8(ascii: "0") && arena[index] <= UInt8(ascii: "9")
    }

    /// Compares two values without affinity: numbers before texts before blobs.
    ///
    /// - Parameters:
    ///   - left: One value, not left out.
    ///   - right: Another one.
    ///   - arena: What texts and wide integers lie in.
    /// - Returns: How they relate; nil if one is NULL.
    /// - Throws: `EvaluationError` for two blobs.
    static func compare(
        _ left: Slot, _ right: Slot, in arena: [UInt8]
    ) throws(EvaluationError) -> ScalarOrder? {
        guard left.kind != .null, right.kind != .null else { return nil }
        if left.kind == .text, right.kind == .text { return order(texts: left.range, right.range, in: arena) }
        // Of a text or blob the kind alone counts: its bytes need not be made a value.
        return try ScalarOrder.compare(left.comparable(in: arena), right.comparable(in: arena))
    }

    /// A value of the same kind that equals this one if it is a number.
    private func comparable(in arena: [UInt8]) -> ScalarValue {
        switch kind {
        case .null, .missing: .null
        case .integer: .integer(integer)
        case .real: .real(real)
        case .text: .text(ExactText(""))
        case .blob: .blob([])
        case .wide: scalar(in: arena)
        }
    }

    /// Orders texts by their UTF-16, of which UTF-8 differs only in this: what needs two units comes before U+E000.
    private static func order(texts left: Range<Int>, _ right: Range<Int>, in arena: [UInt8]) -> ScalarOrder {
        let common = min(left.count, right.count)
        for index in 0..<common {
            let (one, other) = (arena[left.lowerBound + index], arena[right.lowerBound + index])
            guard one != other else { continue }
            // 0xF0 to 0xF4 begin a scalar of two units, 0xEE and 0xEF one from U+E000 on.
            if one >= 0xEE, other >= 0xEE, (one >= 0xF0) != (other >= 0xF0) {
                return one >= 0xF0 ? .before : .behind
            }
            return one < other ? .before : .behind
        }
        return left.count == right.count ? .same : left.count < right.count ? .before : .behind
    }
}
