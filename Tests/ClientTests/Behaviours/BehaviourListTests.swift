import Foundation
import PowerSyncTestSupport
import Testing

/// Every behaviour of client-api 7 that is ours has a test with its number, told from the text of the tests.
///
/// What cannot be seen: whether an assertion can fail, for which `make mutants ARGS=--behaviours` plants mistakes, and
/// whether the test gets as far as to it. That it runs its trait sees to (`BehaviourTrait`).
struct BehaviourListTests {
    /// Numbers that have no test, and why.
    private static let exceptions: [(numbers: ClosedRange<Int>, reason: String)] = [
        (13...13, "`executeBatch` is of section 5, later"),
        (33...33, "the semaphore is a part of the official pool; ours has queues (`SQLitePoolTests`)"),
        (45...47, "the tables of a watch and `onChange` are of section 5, later"),
        (48...48, "the merge helper is a part of the official watch; ours runs when its consumer asks (2.8)"),
        (181...181, "the hook of a new connection is of section 5, later"),
        (182...182, "a missing folder is made, as by the Swift SDK: 172"),
        (183...183, "no cipher is built in; a key is refused (2.14)"),
        (201...204, "GRDB is a package from outside; a pool of the app's own is in `Pools`"),
        (220...228, "beyond parity: section 5, later"),
    ]

    private static func reason(for number: Int) -> String? {
        exceptions.first { $0.numbers.contains(number) }?.reason
    }

    @Test func everyBehaviourHasATestWithItsNumber() throws {
        let contract = try Repository.text("Documentation/Contract/client-api.md")
        let texts = BehaviourTexts(of: contract).texts
        let last = try #require(texts.keys.max())
        #expect(texts.keys.sorted() == Array(1...last), "numbers of the section that were not read")

        var found: Set<Int> = []
        var idle: [String] = []
        for test in try TestText.tests(below: "Tests", having: ".behaviour(") {
            guard let numbers = Self.behaviours(of: test) else { continue }
            found.formUnion(numbers)
            if !test.canFail || numbers.isEmpty { idle.append(test.title) }
        }
        let missing = texts.filter { !found.contains($0.key) && Self.reason(for: $0.key) == nil }
        let lines = missing.sorted { $0.key < $1.key }.map { "\($0.key). \($0.value)" }
        #expect(lines == [], "no test has these")
        #expect(idle == [], "these do not run, assert nothing, or have no numbers")
        let excepted = found.sorted().compactMap { number in
            Self.reason(for: number).map { "\(number): \($0)" }
        }
        #expect(excepted == [], "tests have these, which are excepted")
        let unknown = found.union(Self.exceptions.flatMap(\.numbers)).subtracting(texts.keys)
        #expect(unknown.sorted() == [], "the section has no such numbers")
    }

    /// `make mutants ARGS=--behaviours` runs that test alone.
    @Test func everyPlantedMistakeNamesATestOfItsBehaviour() throws {
        var functions: [Int: Set<String>] = [:]
        for test in try TestText.tests(below: "Tests", having: ".behaviour(") {
            for number in Self.behaviours(of: test) ?? [] {
                functions[number, default: []].insert(test.function)
            }
        }
        let patches = try FileManager.default.contentsOfDirectory(
            at: Repository.root.appending(path: "Tests/Mutants/Behaviours"), includingPropertiesForKeys: nil)
        #expect(!patches.isEmpty)
        for patch in patches {
            let number = try #require(Int(patch.deletingPathExtension().lastPathComponent))
            let text = try String(contentsOf: patch, encoding: .utf8)
            let function = try #require(text.firstMatch(of: /\nTest: \w+\/(\w+)\n/)).1
            #expect(functions[number]?.contains(String(function)) == true, "\(number): \(function)")
        }
    }

    /// The numbers that a test has, none if they are no literals; nil for a test without the trait.
    private static func behaviours(of test: TestText.Test) -> [Int]? {
        guard let start = test.traits.firstRange(of: ".behaviour(") else { return nil }
        let numbers = test.traits[start.upperBound...].prefix { $0 != ")" }.split(separator: ",")
            .map { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        return numbers.contains(nil) ? [] : numbers.compactMap { $0 }
    }

    static let attributes: [(String, [Int]?)] = [
        ("@Test(.behaviour(7))", [7]),
        ("@Test(\"7: a\", .behaviour(41, 42), arguments: [1])", [41, 42]),
        ("@Test(\n\"a\",\n.behaviour(\n3, 4))", [3, 4]),
        ("@Test(.behaviour(seven))", []),
        ("@Test", nil),
        ("@Test(\".behaviour(7)\")", nil),
        ("@Test(/* .behaviour(7) */ .patient())", nil),
    ]

    @Test(arguments: attributes)
    func theTraitTellsTheNumbers(_ attribute: String, _ numbers: [Int]?) {
        let tests = TestText("struct S {\n\(attribute) func a() { #expect(x == 1) }\n}\n").tests
        #expect(tests.map { Self.behaviours(of: $0) } == [numbers])
        #expect(tests.map(\.canFail) == [true])
    }

    @Test func severalBehavioursMayStandInOneLine() {
        let contract = """
            ## 6. Others
            1. Of another section.
            ## 7. Behaviours
            Source tags.
            ### A. First
            1. One with 2 parts.
            2. Two. 3. Three (1.5). 4. Four.
            ### B. Second
            5. Five.
            ## 8. Others
            6. Of another section.
            """
        let texts = BehaviourTexts(of: contract).texts
        #expect(texts == [1: "One with 2 parts.", 2: "Two.", 3: "Three (1.5).", 4: "Four.", 5: "Five."])
    }
}

/// The behaviours of client-api 7, by their numbers.
private struct BehaviourTexts {
    private(set) var texts: [Int: String] = [:]

    /// Reads them from the text of client-api.
    init(of contract: String) {
        let section = contract.components(separatedBy: "\n## 7. ").dropFirst().joined()
            .components(separatedBy: "\n## ")[0]
        for line in section.split(separator: "\n") {
            guard let point = line.firstIndex(of: "."), var number = Int(line[..<point]) else { continue }
            var text = line[point...].dropFirst(2)
            while let next = text.firstRange(of: " \(number + 1). ") {
                texts[number] = String(text[..<next.lowerBound])
                text = text[next.upperBound...]
                number += 1
            }
            texts[number] = String(text)
        }
    }
}
