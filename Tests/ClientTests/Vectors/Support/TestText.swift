/// The tests in the text of a Swift file.
struct TestText {
    struct Test {
        /// What it is called, else the name of its function.
        let title: String
        /// The name of its function.
        let function: String
        /// What stands in the parentheses of `@Test`, without comments and literals.
        let traits: String
        /// Whether it runs always and has an assertion, itself or in a function of the file that it calls.
        let canFail: Bool
    }

    private let source: [UInt8]
    /// The source without comments and literals.
    private let code: [UInt8]

    init(_ text: String) {
        source = Array(text.utf8)
        var blanks = SwiftBlanks(source)
        code = blanks.code()
    }

    /// The tests in their order.
    var tests: [Test] {
        let functions = functions
        let left = conditional + disabledSuites
        return all("@Test").compactMap { start in
            let end = start + "@Test".utf8.count
            let arguments = group(after: end, "(") ?? end..<end
            guard let function = functions.first(where: { $0.body.lowerBound > arguments.upperBound })
            else { return nil }
            // A list without an element is a test that never runs.
            let isEmpty = String(decoding: source[arguments], as: UTF8.self).filter { !$0.isWhitespace }
                .contains("arguments:[]")
            let traits = text(arguments)
            let runs = !isEmpty && !isConditional(traits) && !left.contains { $0.contains(start) }
            var seen: Set<String> = []
            return Test(
                title: (arguments.isEmpty ? nil : literal(at: arguments.lowerBound + 1)) ?? function.name,
                function: function.name, traits: traits,
                canFail: runs && asserts(function.body, functions, &seen))
        }
    }

    private func isConditional(_ traits: String) -> Bool {
        traits.contains(".disabled") || traits.contains(".enabled")
    }

    // MARK: Assertions

    private func asserts(
        _ body: Range<Int>, _ functions: [(name: String, body: Range<Int>)], _ seen: inout Set<String>
    ) -> Bool {
        let calls = ["#expect", "#require", "Issue.record", "confirmation"]
        for start in calls.flatMap({ call in all(call, in: body).map { $0 + call.utf8.count } }) {
            guard let arguments = group(after: start, "(") else { continue }
            let condition = String(decoding: source[arguments], as: UTF8.self).filter { !$0.isWhitespace }
            if condition != "(true)", condition != "(Bool(true))" { return true }
        }
        for function in functions where !seen.contains(function.name) {
            guard all("\(function.name)(", in: body).contains(where: { !isWord($0 - 1) }) else { continue }
            seen.insert(function.name)
            if asserts(function.body, functions, &seen) { return true }
        }
        return false
    }

    /// The functions with their bodies, in their order.
    private var functions: [(name: String, body: Range<Int>)] {
        all("func ").filter { !isWord($0 - 1) }.compactMap { start in
            let name = code[(start + 5)...].prefix { $0.isPartOfWord }
            // Generic parameters have no parentheses here.
            guard let open = code[name.endIndex...].firstIndex(of: UInt8(ascii: "(")),
                let parameters = group(at: open),
                let brace = code[parameters.upperBound...].firstIndex(of: UInt8(ascii: "{")),
                let body = group(at: brace)
            else { return nil }
            return (String(decoding: name, as: UTF8.self), body)
        }
    }

    // MARK: What does not always run

    /// From `#if` to its `#endif`.
    private var conditional: [Range<Int>] {
        var open: [Int] = []
        var ranges: [Range<Int>] = []
        for (start, isEnd) in (all("#if ").map { ($0, false) } + all("#endif").map { ($0, true) }).sorted(
            by: { $0.0 < $1.0 })
        {
            if !isEnd {
                open.append(start)
            } else if let first = open.popLast() {
                ranges.append(first..<start)
            }
        }
        return ranges
    }

    private var disabledSuites: [Range<Int>] {
        all("@Suite").compactMap { start in
            guard let traits = group(after: start + 6, "("), isConditional(text(traits)),
                let brace = code[traits.upperBound...].firstIndex(of: UInt8(ascii: "{"))
            else { return nil }
            return group(at: brace)
        }
    }

    // MARK: Reading

    private func text(_ range: Range<Int>) -> String { String(decoding: code[range], as: UTF8.self) }

    private func isWord(_ position: Int) -> Bool { position >= 0 && code[position].isPartOfWord }

    /// Where a text occurs in the code.
    private func all(_ text: String, in range: Range<Int>? = nil) -> [Int] {
        code[range ?? code.indices].ranges(of: Array(text.utf8)).map(\.lowerBound)
    }

    /// The group that begins with the next byte that is no space, if that is the one.
    private func group(after position: Int, _ open: Character) -> Range<Int>? {
        guard let next = code[position...].firstIndex(where: { !$0.isSpace }), code[next] == open.asciiValue
        else { return nil }
        return group(at: next)
    }

    /// From an opening parenthesis, bracket or brace to behind its closing one.
    private func group(at open: Int) -> Range<Int>? {
        var depth = 0
        for position in open..<code.count {
            if "([{".utf8.contains(code[position]) { depth += 1 }
            if ")]}".utf8.contains(code[position]) {
                depth -= 1
                if depth == 0 { return open..<position + 1 }
            }
        }
        return nil
    }

    /// The text between the quotes of a literal in one line that begins with the next byte that is no space.
    private func literal(at position: Int) -> String? {
        guard let quote = source[position...].firstIndex(where: { !$0.isSpace }),
            source[quote] == UInt8(ascii: "\"")
        else { return nil }
        var end = quote + 1
        while end < source.count, source[end] != UInt8(ascii: "\"") {
            end += source[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        return String(decoding: source[quote + 1..<min(end, source.count)], as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 32 || self == 10 }
    fileprivate var isPartOfWord: Bool {
        let character = Character(UnicodeScalar(self))
        return self >= 128 || character.isLetter || character.isNumber || character == "_"
    }
}
