import PowerSyncWire

/// Writes values of rows as text: the data of an operation, its id, the values of a bucket's name.
package enum RowTextWriter {
    /// Appends the data text of a row (service 4.4).
    ///
    /// BLOBs are left out; of members of one name the last one that counts gives the value, in the place of the first
    /// one.
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
        // What columns of one name come to is looked for once, however many there are.
        var known: [Int: (first: Int?, value: Slot?)] = [:]
        // In the buffers: a slice of an array would count a reference for each member.
        program.names.withUnsafeBufferPointer { names in
            arena.withUnsafeBufferPointer { arena in
                for index in program.members.indices {
                    guard let value = member(index, of: program, run, slots, &known) else { continue }
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
        _ index: Int, of program: RowProgram, _ run: RowProgramRun, _ slots: [Slot],
        _ known: inout [Int: (first: Int?, value: Slot?)]
    ) -> Slot? {
        let member = program.members[index]
        if member.twins.isEmpty {
            let value = run.value(of: member.value, slots)
            return value.kind == .blob ? nil : value
        }
        let group = member.twins.lowerBound
        if known[group] == nil {
            let shown = shown(member.twins, of: program, run, slots)
            known[group] = (shown.first, shown.value)
        }
        guard let shown = known[group], shown.first == index else { return nil }
        return shown.value
    }

    /// What members of one name come to.
    ///
    /// - Returns: The value that the data text has, and the member in whose place it stands, of which there is none if
    ///   all are blobs; and the value that counted last, blobs included.
    private static func shown(
        _ twins: Range<Int>, of program: RowProgram, _ run: RowProgramRun, _ slots: [Slot]
    ) -> (first: Int?, value: Slot?, last: Slot) {
        var (first, shown, last): (Int?, Slot?, Slot) = (nil, nil, .null)
        for twin in program.twins[twins] {
            let member = program.members[twin]
            if member.givesWay, let shown, shown.kind != .null { continue }
            last = run.value(of: member.value, slots)
            guard last.kind != .blob else { continue }
            if first == nil { first = twin }
            shown = last
        }
        return (first, shown, last)
    }

    /// Appends the id of a row; without one it is empty (service 6.4).
    ///
    /// - Parameters:
    ///   - program: The program that was run.
    ///   - run: Its run, whose outcome was `.inside`.
    ///   - slots: The row.
    ///   - arena: What texts and blobs lie in.
    ///   - bytes: Gets the text.
    package static func appendID(
        _ program: RowProgram, _ run: RowProgramRun, _ slots: [Slot], in arena: [UInt8],
        to bytes: inout [UInt8]
    ) {
        guard let id = program.id else { return }
        let member = program.members[id]
        let value =
            member.twins.isEmpty
            ? run.value(of: member.value, slots) : shown(member.twins, of: program, run, slots).last
        appendText(value, in: arena, to: &bytes)
    }

    /// Appends the value of a member of the data text.
    private static func appendJSON(
        _ value: Slot, in arena: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]
    ) {
        switch value.kind {
        case .null, .blob, .missing: bytes.append(contentsOf: "null".utf8)
        case .integer: JSON.appendInteger(value.integer, to: &bytes)
        case .real: bytes.append(contentsOf: NumberText.real(value.real).utf8)
        case .wide: bytes.append(contentsOf: arena[value.range])
        case .text: JSON.appendQuoted(UnsafeBufferPointer(rebasing: arena[value.range]), to: &bytes)
        }
    }

    /// Appends a value of a bucket's name; equal texts mean the same bucket (service 5).
    ///
    /// - Parameters:
    ///   - value: The value, a number or text, or NULL where it has a spelling.
    ///   - arena: What texts lie in.
    ///   - bytes: Gets the text.
    package static func appendKey(_ value: Slot, in arena: [UInt8], to bytes: inout [UInt8]) {
        switch value.kind {
        case .text: arena.withUnsafeBufferPointer { appendJSON(value, in: $0, to: &bytes) }
        case .null: bytes.append(contentsOf: "null".utf8)
        // What is no number has no name (`requireKey`).
        case .real: bytes.append(contentsOf: (BucketSpelling.text(value.real) ?? "null").utf8)
        default: appendText(value, in: arena, to: &bytes)
        }
    }

    /// Appends a value as an id has it; NULL is empty.
    private static func appendText(_ value: Slot, in arena: [UInt8], to bytes: inout [UInt8]) {
        switch value.kind {
        case .null, .missing: break
        case .integer: JSON.appendInteger(value.integer, to: &bytes)
        case .real: bytes.append(contentsOf: NumberText.normalized(value.real).utf8)
        case .text, .wide: bytes.append(contentsOf: arena[value.range])
        // What is no UTF-8 is repaired.
        case .blob: bytes.append(contentsOf: String(decoding: arena[value.range], as: UTF8.self).utf8)
        }
    }

    /// Appends the text form of a value to what its bytes lie in, as `||` joins it; nothing for NULL.
    static func appendTextForm(_ value: Slot, to arena: inout [UInt8]) {
        switch value.kind {
        case .null, .missing: break
        case .integer: JSON.appendInteger(value.integer, to: &arena)
        case .real: arena.append(contentsOf: NumberText.javaScript(value.real).utf8)
        // A slice of the arena would keep it from growing in place.
        case .text, .wide: arena.append(contentsOf: Array(arena[value.range]))
        // What is no UTF-8 is repaired.
        case .blob: arena.append(contentsOf: String(decoding: arena[value.range], as: UTF8.self).utf8)
        }
    }
}
