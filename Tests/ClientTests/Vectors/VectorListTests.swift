import Foundation
import Testing

/// Every vector of client-core 9 has its test, told from the text of the tests.
///
/// What cannot be seen: whether an assertion can fail, and whether the test gets as far as to it.
struct VectorListTests {
    /// Belongs to the SDK.
    private static let ofTheSDK: Set<Int> = [149]

    @Test func everyVectorHasATestWithItsNumber() throws {
        var found: Set<Int> = []
        var idle: [String] = []
        for test in try TestText.tests(below: "Tests/ClientTests", "Tests/WireTests") {
            let vectors = Self.vectors(of: test)
            if test.canFail {
                found.formUnion(vectors)
            } else if !vectors.isEmpty {
                idle.append(test.title)
            }
        }
        let wanted = Set(1...150).subtracting(Self.ofTheSDK)
        #expect(wanted.subtracting(found).sorted() == [])
        #expect(found.subtracting(1...150).sorted() == [])
        #expect(idle == [], "these do not run, or assert nothing")
    }

    /// The numbers that a title begins with: `87, 88: …`.
    private static func vectors(of test: TestText.Test) -> [Int] {
        let numbers = test.title.prefix { $0 != ":" }.components(separatedBy: ", ").map { Int($0) }
        return numbers.contains(nil) || !test.title.contains(":") ? [] : numbers.compactMap { $0 }
    }

    @Test(arguments: [
        ("func a() { #expect(x == 1) }", true),
        ("func a() throws { try #require(x) }", true),
        ("func a() { if x { Issue.record(\"no\") } }", true),
        (
            "func a() { check(1) }\nfunc check(_ x: Int) { again(x) }\nfunc again(_ x: Int) { #expect(x == 1) }",
            true
        ),
        ("func a() { let text = \"}\"; #expect(text == x) }", true),
        ("func a(_ x: [Int] = [1]) -> Int { #expect(x == []) }", true),
        ("func a() {}", false),
        ("func a() { _ = try run() }", false),
        ("func a() { // #expect(x == 1)\n }", false),
        ("func a() { /* /* */ #expect(x == 1) */ }", false),
        ("func a() { print(\"#expect(x == 1)\") }", false),
        ("func a() { print(#\"\\(#expect(x))\"#, \"\"\"\n#expect(x)\n\"\"\") }", false),
        ("func a() { #expect(true) }", false),
        ("func a() { #expect( Bool(true) ) }", false),
        ("func a() { check(1) }\nfunc check(_ x: Int) { check(x) }", false),
        ("func a() {}\nfunc b() { #expect(x == 1) }", false),
    ])
    func onlyATestWithAnAssertionCounts(_ code: String, _ counts: Bool) {
        let tests = TestText("struct S {\n    @Test(\"7: a \\\"title\\\" (of one)\") \(code)\n}\n").tests
        #expect(tests.map(\.title) == ["7: a \\\"title\\\" (of one)"])
        #expect(tests.map(\.canFail) == [counts])
    }

    @Test(arguments: [
        ("@Test(\"7: a\", .patient(), arguments: [1])", "", true),
        ("@Test(\"7: a\", .disabled())", "", false),
        ("@Test(\"7: a\", .disabled(\"later\"))", "", false),
        ("@Test(\"7: a\", .enabled(if: later))", "", false),
        ("@Test(\"7: a\", arguments: [])", "", false),
        ("@Test(\"7: a\", arguments: [] as [Int])", "", false),
        ("@Test(\"7: a\")", "@Suite(.serialized)", true),
        ("@Test(\"7: a\")", "@Suite(.disabled())", false),
        ("@Test(\"7: a\")", "@Suite(\"s\", .enabled(if: later))", false),
        ("#if later\n@Test(\"7: a\")", "", false),
    ])
    func onlyATestThatRunsCounts(_ attribute: String, _ suite: String, _ counts: Bool) {
        let end = attribute.hasPrefix("#if") ? "\n#endif" : ""
        let text = "\(suite) struct S {\n\(attribute) func a() { #expect(x == 1) }\(end)\n}\n"
        #expect(TestText(text).tests.map(\.canFail) == [counts])
        // What comes behind is not touched by it.
        let next = "struct T {\n@Test(\"8: b\") func b() { #expect(y == 1) }\n}\n"
        #expect(TestText(text + next).tests.map(\.canFail) == [counts, true])
    }
}
