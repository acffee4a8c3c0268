import PowerSyncWire

/// Writes values of rows as text: the data of an operation, its id, the values of a bucket's name.
package enum RowTextWriter {
    /// Appends the data text of a row (service 4.4).
    ///
    /// BLOBs are left out; of members of one name the last one gives the value, in the place of the first one.
    ///
    /// - Parameters:
    ///   - program: The program that was run.
    ///   - run: Its run, whose outcome was `.inside`.
    ///   - slots: The row.
    ///   - arena: What texts lie in.
    ///   - bytes: Gets the JSON object.
    package static func appendData(
        _ program: RowProgram, _ run: RowProgramRun, _ slots: [Slot], in arena: [UInt8],
        to bytes: inout [UInt8]
    ) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        // In the buffers: a slice of an array would count a reference for each member.
        program.names.withUnsafeBufferPointer { names in
            arena.withUnsafeBufferPointer { arena in
                for index in program.members.indices {
                    guard let value = member(index, of: program, run, slots) else { continue }
                    if !isFirst { bytes.append(UInt8(ascii: ",")) }
                    isFirst = false
                    let name = program.members[index].name
                    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: names[name]))
                    appendJSON(value, in: arena, to: &bytes)
                }
            }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// What the data text has in the place of a member; nil if it has nothing there.
    private static func member(
        _ index: Int, of program: RowProgram, _ run: RowProgramRun, _ slots: [Slot]
    ) -> Slot? {
        let member = program.members[index]
        if member.twins.isEmpty {
            let value = run.value(of: member.value, slots)
            return value.kind == .blob ? nil : value
        }
        var first: Int?
        var last: Slot?
        for twin in program.twins[member.twins] {
            let value = run.value(of: program.members[twin].value, slots)
            guard value.kind != .blob else { continue }
            if first == nil { first = twin }
            last = value
        }
        return first == index ? last : nil
    }

    /// Appends the value of a member of the data text.
    private static func appendJSON(
        _ value: Slot, in arena: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]
    ) {
        switch value.kind {
        case .null, .blob, .missing: bytes.append(contentsOf: "null".utf8)
        case .integer: append(value.integer, to: &bytes)
        case .real: bytes.append(contentsOf: NumberText.real(value.real).utf8)
        case .wide: bytes.append(contentsOf: arena[value.range])
        case .text: JSON.appendQuoted(UnsafeBufferPointer(rebasing: arena[value.range]), to: &bytes)
        }
    }

    /// Appends a value of a bucket's name; equal texts mean the same bucket (service 5).
    ///
    /// - Parameters:
    ///   - value: The value, a number or text.
    ///   - arena: What texts lie in.
    ///   - bytes: Gets the text.
    package static func appendKey(_ value: Slot, in arena: [UInt8], to bytes: inout [UInt8]) {
        if value.kind == .text {
            arena.withUnsafeBufferPointer { appendJSON(value, in: $0, to: &bytes) }
        } else {
            appendText(value, in: arena, to: &bytes)
        }
    }

    /// Appends an id; what has none is empty (service 6.4).
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - arena: What texts and blobs lie in.
    ///   - bytes: Gets the text.
    package static func appendText(_ value: Slot, in arena: [UInt8], to bytes: inout [UInt8]) {
        switch value.kind {
        case .null, .missing: break
        case .integer: append(value.integer, to: &bytes)
        case .real: bytes.append(contentsOf: NumberText.normalized(value.real).utf8)
        case .text, .wide: bytes.append(contentsOf: arena[value.range])
        // What is no UTF-8 is repaired.
        case .blob: bytes.append(contentsOf: String(decoding: arena[value.range], as: UTF8.self).utf8)
        }
    }

    /// Appends the digits of an integer.
    private static func append(_ integer: Int64, to bytes: inout [UInt8]) {
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        var (low, rest) = (bytes.count, integer.magnitude)
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        var high = bytes.count - 1
        while low < high {
            bytes.swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}
