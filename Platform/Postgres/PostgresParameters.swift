/// The parameters of a statement in text form, in one buffer that libpq reads in place.
package struct PostgresParameters: Sendable, Hashable {
    /// The texts, a NUL behind each.
    private var bytes: [UInt8] = []
    /// Where each text begins; nil for NULL.
    private var offsets: [Int?] = []
    /// Whether a text has a NUL of its own, behind which libpq would read nothing.
    private(set) var hasNUL = false

    /// Makes the parameters of a statement without any.
    package init() {}

    /// Makes parameters of their texts; nil is NULL.
    package init(_ texts: [String?]) {
        offsets.reserveCapacity(texts.count)
        reserve(texts.reduce(0) { $0 + 1 + ($1?.utf8.count ?? 0) })
        for text in texts { append(text) }
    }

    /// How many there are.
    package var count: Int { offsets.count }
    /// Whether there are none.
    package var isEmpty: Bool { offsets.isEmpty }

    /// The texts again; nil is NULL.
    package var texts: [String?] {
        offsets.indices.map { index in
            guard let start = offsets[index] else { return nil }
            let end = offsets[(index + 1)...].lazy.compactMap { $0 }.first ?? bytes.count
            return String(decoding: bytes[start..<end - 1], as: UTF8.self)
        }
    }

    /// Adds a parameter; nil is NULL.
    package mutating func append(_ text: String?) {
        guard let text else {
            offsets.append(nil)
            return
        }
        offsets.append(bytes.count)
        bytes.append(contentsOf: text.utf8)
        end()
    }

    /// Adds a one-dimensional array, for a parameter that is cast to some `type[]`.
    ///
    /// An array, and no collection of any kind: what is generic and called from another module is not specialized.
    ///
    /// - Parameter elements: Its elements; nil is NULL.
    package mutating func appendArray(_ elements: [String?]) {
        reserve(elements.reduce(3) { $0 + Self.room(of: $1) })
        beginArray()
        for element in elements { appendElement(element) }
        endArray()
    }

    /// Begins a one-dimensional array, whose elements follow one by one: nobody has to collect them for it.
    package mutating func beginArray() {
        offsets.append(bytes.count)
        bytes.append(UInt8(ascii: "{"))
    }

    /// Adds an element to the array that was begun; nil is NULL.
    package mutating func appendElement(_ element: String?) {
        // No element ends in this.
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        appendArrayElement(element, to: &bytes)
    }

    /// Ends the array that was begun.
    package mutating func endArray() {
        bytes.append(UInt8(ascii: "}"))
        end()
    }

    /// How many bytes an element of an array takes if nothing in it must be escaped.
    package static func room(of element: String?) -> Int { 3 + (element?.utf8.count ?? 4) }

    /// Adds a one-dimensional array of whole numbers.
    package mutating func appendArray(_ numbers: [Int64]) {
        offsets.append(bytes.count)
        bytes.append(UInt8(ascii: "{"))
        for (index, number) in numbers.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            Self.append(number, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        end()
    }

    /// Ends the text that began last.
    private mutating func end() {
        let start = (offsets.last ?? nil) ?? 0
        if bytes.withUnsafeBytes({ hasByte(0, in: UnsafeRawBufferPointer(rebasing: $0[start...])) }) {
            hasNUL = true
        }
        bytes.append(0)
    }

    /// Makes room for further bytes, for so many more that many small parameters do not have all moved each time.
    ///
    /// - Parameter count: How many bytes.
    package mutating func reserve(_ count: Int) {
        let needed = bytes.count + count
        if needed > bytes.capacity { bytes.reserveCapacity(max(needed, 2 * bytes.capacity)) }
    }

    /// Appends the decimal digits of a number, of which the last is found first.
    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = number.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        var (low, high) = (start, bytes.count - 1)
        while low < high {
            bytes.swapAt(low, high)
            (low, high) = (low + 1, high - 1)
        }
    }

    /// Calls `body` with the texts as C strings, NULL as nil; the pointers end with the call.
    ///
    /// - Parameter body: What is done with them.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    func withPointers<Result>(
        _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>) throws -> Result
    ) rethrows -> Result {
        try bytes.withUnsafeBytes { raw in
            let base = raw.assumingMemoryBound(to: CChar.self).baseAddress
            let pointers = offsets.map { offset in offset.flatMap { base?.advanced(by: $0) } }
            return try pointers.withUnsafeBufferPointer(body)
        }
    }
}
