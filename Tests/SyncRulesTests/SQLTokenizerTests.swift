import PowerSyncSyncRules
import PowerSyncTestSupport
import Testing

/// Tokens of SQL (service 6.3).
@Suite(.namesSeed)
struct SQLTokenizerTests {
    private func tokens(_ sql: String) -> [SQLToken] { SQLTokenizer.tokens(of: Array(sql.utf8)) }

    @Test func tokensHaveTheirKindsAndRanges() {
        let expected: [SQLToken] = [
            SQLToken(.word("select"), 0..<6, isFolded: true), SQLToken(.word("a1"), 7..<9),
            SQLToken(.sign(.dot), 9..<10), SQLToken(.name("B\""), 10..<15),
            SQLToken(.sign(.longArrow), 15..<18), SQLToken(.text("it's"), 18..<25),
            SQLToken(.integer("12"), 26..<28), SQLToken(.real("1.5"), 29..<32),
            SQLToken(.parameter("$2"), 33..<35), SQLToken(.end, 35..<35),
        ]
        #expect(tokens("SELECT a1.\"B\"\"\"->>'it''s' 12 1.5 $2") == expected)
    }

    @Test func everySignIsReadAsTheLongestOne() {
        for sign in SQLToken.Sign.allCases {
            #expect(tokens(sign.rawValue).map(\.kind) == [.sign(sign), .end])
            let pair = tokens("a\(sign.rawValue)b")
            #expect(pair.map(\.kind) == [.word("a"), .sign(sign), .word("b"), .end])
        }
        #expect(tokens("<<=").map(\.kind) == [.sign(.shiftLeft), .sign(.equal), .end])
        #expect(tokens("1e3").map(\.kind) == [.integer("1"), .word("e3"), .end])
        #expect(tokens("1.2.3").map(\.kind) == [.real("1.2"), .real(".3"), .end])
    }

    @Test(arguments: [
        "a b", "a\n\tb", "a--c\nb", "a -- b\r b", "a/**/b", "a /* * / */ b", " a b -- c", "a b/**/",
    ])
    func blanksAndCommentsPartTokens(_ sql: String) {
        #expect(tokens(sql).map(\.kind) == [.word("a"), .word("b"), .end])
    }

    @Test(arguments: ["'a", "\"a", "/* a", "E'a\\'", "?", "@", "#", "\\", "{", "'\0'", "$a", ":"])
    func nothingStandsBehindWhatIsNoToken(_ sql: String) throws {
        let found = tokens("b \(sql) c")
        #expect(found.count == 3 && found.first?.kind == .word("b") && found.last?.kind == .end)
        guard case .invalid(let reason) = found[1].kind else {
            Issue.record("\(found)")
            return
        }
        #expect(!reason.isEmpty && found[1].range.lowerBound >= 2 && !found[1].range.isEmpty)
    }

    @Test func anyTextHasTokensWithinIt() async throws {
        let pieces = Array("'\"eE\\$-/*.1a_<>=!|&:()[]; \n\u{0}ü😀").map { String($0) }
        try await forEachSeed(500) { random in
            let sql = (0..<12).map { _ in random.pick(pieces) }.joined()
            var end = 0
            for token in tokens(sql) {
                #expect(token.range.lowerBound >= end, "\(sql.debugDescription)")
                end = token.range.upperBound
            }
            #expect(end <= sql.utf8.count)
        }
    }
}
